package client

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/acpprofile"
	"github.com/magi-jig/magi-jig/jig/internal/project"
	"github.com/magi-jig/magi-jig/jig/internal/sandbox"
	"github.com/magi-jig/magi-jig/nativeinspect"
)

// Plan is everything that is needed to start one native scope. It holds no secret.
// It is immutable and safe for concurrent use.
type Plan struct {
	Client string // codex, claude or pi
	Model  string // empty: the client's own default
	Mode   string // such as openai-subscription, see the constants

	Provider project.Provider
	Digest   string // of Provider

	// Of the launch frame.
	Native string            // path of the executable in the scope
	Argv   []string          // its arguments, without the program's own name
	Env    map[string]string // its whole environment but for a credential

	// Of the scope. The first bind is the jig binary at [AdapterPath].
	Binds        []sandbox.Bind
	Tmpfs        []sandbox.Tmpfs
	Data         []sandbox.Data
	NestedUserns bool

	// Of the ready record.
	Configuration []acpprofile.Setting
	ModeID        string // empty: none

	Startup bool // the credential goes over at start

	// Login says that the client logs in, as a step of its own before it answers
	// initialize. That follows from Client, so it is no part of the identity.
	Login bool
}

// Paths in a native scope.
const (
	AdapterPath      = "/agent/jig"
	WorkPath         = "/work"
	HomePath         = "/home/agent"
	CodexHome        = "/codex"
	SessionsPath     = "/codex/sessions"
	BundlePath       = "/etc/ssl/certs/ca-certificates.crt"
	RequirementsPath = "/etc/codex/requirements.toml"
)

// Protected are the paths that a native scope keeps for itself: no file of a client
// may lie at or below one of them, because it would then stand in a folder that the
// client writes, or in the place of one of jig's own files.
func Protected() []string {
	return []string{
		"/proc", "/dev", "/sys", "/tmp", WorkPath, HomePath, CodexHome, "/agent", "/etc/codex", BundlePath,
		"/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/passwd", "/etc/group", "/etc/ld.so.preload", "/etc/ld.so.cache",
	}
}

// RoleRequirements is the role of jig's own requirements for Codex.
const RoleRequirements = "requirements"

// plan puts together what starts the client as it now is. contract is the digest
// of the resource's contract.
func (o *Opener) plan(p Profile, i *nativeinspect.Installation, reach *project.Reach, m *machine, contract string) (*Plan, error) {
	helper := ""
	if i.Helper != nil {
		helper = i.Helper.Folder()
	}
	plan := &Plan{
		Client: string(p.Client), Model: p.Model, Mode: p.Mode, Native: i.Executable.Path, Argv: p.arguments(), Env: p.environment(helper, reach),
		Binds:        []sandbox.Bind{{Source: o.o.JigPath, Dest: AdapterPath}, {Source: i.Executable.Source, Dest: i.Executable.Path}},
		Tmpfs:        []sandbox.Tmpfs{{Dest: "/tmp", Bytes: sandbox.NativeTmpBytes}, {Dest: HomePath, Bytes: sandbox.NativeTmpBytes}, {Dest: WorkPath, Bytes: sandbox.NativeTmpBytes}},
		Data:         m.data(o.o.UID, o.o.GID),
		NestedUserns: p.Client == nativeinspect.Codex, Startup: true,
	}
	switch p.Client {
	case nativeinspect.Codex:
		plan.Login = true // the others find the credential where they look for it
		plan.ModeID = "read-only"
		plan.Tmpfs = append(plan.Tmpfs, sandbox.Tmpfs{Dest: CodexHome, Bytes: sandbox.NativeTmpBytes}, sandbox.Tmpfs{Dest: SessionsPath, Bytes: sandbox.SessionsBytes})
		plan.Data = append(plan.Data, sandbox.Data{Dest: RequirementsPath, Content: []byte(requirements)})
		if p.Model != "" {
			plan.Configuration = []acpprofile.Setting{{ID: "model", Value: p.Model}}
		}
	case nativeinspect.Claude:
		plan.ModeID = "default"
	case nativeinspect.Pi:
		plan.Configuration = []acpprofile.Setting{{ID: "model", Value: p.Provider + "/" + p.Model}}
	}
	facts := reach.Facts()
	id := project.Provider{
		Kind: project.KindACP, Contract: contract, Client: text(p.Client.Identity()), Model: text(p.shown()), Mode: p.Mode, Endpoint: text(p.Endpoint),
		Proxy: facts.Proxy, Adapter: text(o.o.JigDigest), Executable: program(i.Executable), Argv: plan.Argv, Env: plan.Env,
		ModeID: text(plan.ModeID), Startup: plan.Startup, NestedUserns: plan.NestedUserns, CA: facts.CA,
	}
	for _, f := range i.Files {
		plan.Binds = append(plan.Binds, sandbox.Bind{Source: f.Source, Dest: f.Path})
		id.Files = append(id.Files, project.ProviderFile{Path: f.Path, Role: string(f.Role), Digest: digest(f.Digest)})
	}
	if i.Helper != nil {
		plan.Binds = append(plan.Binds, sandbox.Bind{Source: i.Helper.Source, Dest: i.Helper.Path})
		id.Helper = program(i.Helper.File)
	}
	if p.Client == nativeinspect.Codex {
		sum := sha256.Sum256([]byte(requirements))
		id.Files = append(id.Files, project.ProviderFile{Path: RequirementsPath, Role: RoleRequirements, Digest: digest(sum)})
		slices.SortFunc(id.Files, func(a, b project.ProviderFile) int {
			if a.Path < b.Path {
				return -1
			}
			return 1
		})
	}
	var err error
	if id.Configuration, err = configuration(plan.Configuration); err != nil {
		return nil, err
	}
	plan.Provider = id
	plan.Digest, err = id.Digest()
	return plan, err
}

// configuration is the configuration as the ready record shows it.
func configuration(settings []acpprofile.Setting) ([]byte, error) {
	type entry struct {
		ID    string `json:"configId"`
		Value string `json:"value"`
	}
	list := []entry{}
	for _, s := range settings {
		list = append(list, entry{s.ID, s.Value})
	}
	return json0.Marshal(list)
}

func program(f nativeinspect.File) *project.ProviderExecutable {
	return &project.ProviderExecutable{Path: f.Path, Digest: digest(f.Digest)}
}

func digest(d [32]byte) string { return "sha256:" + hex.EncodeToString(d[:]) }

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
