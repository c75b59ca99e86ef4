package check

// row is one line of the table of the architecture page.
type row struct {
	modules []string // modules of this repository that it may import; nil means none
	deps    []string // other modules that its non-test code may import
	pure    bool     // its root package is a core: no I/O, no clock, no goroutine of its own
}

const (
	jsonModule  = "github.com/go-json-experiment/json"
	uuidModule  = "github.com/google/uuid"
	sysModule   = "golang.org/x/sys"
	gjsonModule = "github.com/tidwall/gjson"
	boltModule  = "go.etcd.io/bbolt"
	cobraModule = "github.com/spf13/cobra"
	textModule  = "golang.org/x/text"
	compressors = "github.com/klauspost/compress"
)

// table is the architecture: who may import whom. A module that is not in it is
// refused, and so is an import that its row does not name. tools may import
// anything; nobody may import tools, magid or jig.
var table = map[string]row{
	"wirev2":        {deps: []string{jsonModule, uuidModule, sysModule}},
	"executorauth":  {deps: []string{uuidModule}, pure: true},
	"appresources":  {deps: []string{jsonModule, uuidModule, sysModule}, pure: true},
	"acpframing":    {deps: []string{jsonModule}, pure: true},
	"acpprofile":    {modules: []string{"acpframing"}, deps: []string{jsonModule}, pure: true},
	"nativeinspect": {deps: []string{sysModule, gjsonModule}},
	"sessionstore":  {deps: []string{compressors, boltModule, uuidModule}},
	"magid": {
		modules: []string{"wirev2", "executorauth", "appresources"},
		deps: []string{jsonModule, uuidModule, sysModule, cobraModule, "github.com/pelletier/go-toml/v2",
			"github.com/modelcontextprotocol/go-sdk", "github.com/charmbracelet/lipgloss", "github.com/charmbracelet/bubbletea"},
	},
	"jig": {
		modules: []string{"acpframing", "acpprofile", "nativeinspect", "sessionstore"},
		deps: []string{jsonModule, uuidModule, sysModule, cobraModule, boltModule, gjsonModule, textModule, compressors,
			"github.com/evanw/esbuild", "modernc.org/quickjs", "modernc.org/libquickjs", "modernc.org/libc",
			"github.com/spf13/pflag",          // the flags of cobra's commands
			"github.com/pelletier/go-toml/v2", // Codex keeps its configuration in TOML
			"github.com/charmbracelet/lipgloss", "github.com/charmbracelet/bubbletea"},
	},
}

const (
	toolsModule = "tools" // may import anything, is imported by nobody
)

// testDeps are modules that test code may import besides those of its row.
var testDeps = []string{
	"github.com/stretchr/testify",
	"github.com/rogpeppe/go-internal",
	jsonModule, gjsonModule, sysModule, uuidModule,
}

// ban is an import that no non-test code of the repository may hold.
type ban struct{ path, reason string }

var bans = []ban{
	{"encoding/json", "it takes duplicate, unknown and case-folded members and invalid UTF-8; read JSON with " + jsonModule},
	{"encoding/json/v2", "it exists only under an experiment of the toolchain; use " + jsonModule},
	{"encoding/gob", "it is not a format for data that others write"},
	{"math/rand", "it can be predicted; use math/rand/v2 for jitter and crypto/rand for anything else"},
	{"io/ioutil", "it is deprecated; use io and os"},
	{"log", "the programs log with log/slog, which redacts by type; commands print to standard error"},
	{"unsafe", "nothing here is worth giving up the type system; golang.org/x/sys has the system calls"},
	{"testing", "test helpers belong in _test.go files"},
	{"github.com/stretchr/testify/assert", "a failed assert goes on; use require"},
}

// pureBans are refused in the root package of a module whose row says pure.
var pureBans = []ban{
	{"net", "a core does no I/O; its host does"},
	{"net/http", "a core does no I/O; its host does"},
	{"os", "a core does no I/O; its host does"},
	{"os/exec", "a core starts no process; its host does"},
	{"syscall", "a core makes no system call; its host does"},
	{sysModule + "/unix", "a core makes no system call; its host does"},
}
