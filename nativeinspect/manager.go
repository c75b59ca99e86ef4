package nativeinspect

// Manager is a version manager whose shims are recognised, to say what helps.
type Manager string

// The managers.
const (
	ManagerVolta Manager = "volta"
	ManagerAsdf  Manager = "asdf"
	ManagerMise  Manager = "mise"
	ManagerNode  Manager = "node" // a script of an npm package
)

func (m Manager) correction(client, override string) string {
	switch m {
	case ManagerVolta, ManagerAsdf, ManagerMise:
		return "This is a shim of " + string(m) + ": set " + override + " to the native executable behind what `" + string(m) + " which " + client + "` prints."
	case ManagerNode:
		if client == string(Pi) {
			return "This is the npm installation of Pi, which needs Node: install the self-contained Pi " + PiVersion + " for Linux x64 and set " + override + " to its executable."
		}
		return "This is a script for Node: set " + override + " to the absolute path of the native " + client + " executable in the installed package."
	}
	return ""
}
