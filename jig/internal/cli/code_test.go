package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/fault"
	"github.com/magi-jig/magi-jig/jig/internal/project"
)

// closed are the codes of finite-acp 7d that have to do with what is built, and
// no others.
var closed = strings.Fields(`
	JIG_USAGE JIG_RUN_INPUT_INVALID JIG_RUN_TARGET_INVALID JIG_RUN_TARGET_NOT_FOUND JIG_RUN_TIMEOUT_INVALID JIG_RUN_FILES_INVALID JIG_OUTPUT_INVALID
	JIG_OUTPUT_EXISTS JIG_DELIVERY_UNAVAILABLE JIG_DELIVERY_FAILED JIG_REPORT_LIMIT JIG_APPROVAL_REQUIRED JIG_AUTHORITY_APPROVAL_REQUIRED
	JIG_CHANGES_DECLINED JIG_COMMAND_INTERRUPTED JIG_COMMAND_UNAVAILABLE JIG_CLEANUP_FAILED JIG_RUN_PROTOCOL_ERROR JIG_TARGET_NOT_FOUND
	JIG_INSPECTION_UNAVAILABLE JIG_INIT_DESTINATION_EXISTS JIG_INIT_CLEANUP_FAILED RUN_APPROVAL_CHANGED ADMISSION_MISSING REVIEW_REQUIRED PROJECT_CLOSE_FAILED
	INVALID_REQUEST PROJECT_NOT_FOUND PROJECT_UNSAFE PROJECT_STATE_INVALID INVALID_CANDIDATE LOCK_MISMATCH PLAN_NOT_FOUND STALE_PLAN
	AUTHORITY_APPROVAL_REQUIRED PROJECT_BUSY PROJECT_CLOSED UNAVAILABLE INTERNAL
	PROJECT_DECLARATION_INVALID PROJECT_EVALUATION_LIMIT PROJECT_HTTP_UNAVAILABLE PROJECT_ACP_UNAVAILABLE FEATURE_UNAVAILABLE
	SUBMISSION_CONFLICT RUN_NOT_FOUND
	INVALID_INPUT INVALID_RESULT PROTOCOL_ERROR CANCELLED DEADLINE_EXCEEDED OWNER_CLOSED OPERATION_CONFLICT PERMISSION_DENIED RESOURCE_EXHAUSTED
	UNCERTAIN EXECUTION_FAILED CHANNEL_LOST LAGGED DISCONNECTED COORDINATOR_LOST`)

// rule: P-184
func TestEveryCodeIsOneOfTheClosedLists(t *testing.T) {
	var codes []string
	for file, prefix := range map[string]string{"code.go": "code", "../project/diagnostic.go": "Code"} {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, name := range spec.Names {
				if len(spec.Values) <= i || !strings.HasPrefix(name.Name, prefix) {
					continue
				}
				if literal, ok := spec.Values[i].(*ast.BasicLit); ok {
					value, err := strconv.Unquote(literal.Value)
					require.NoError(t, err)
					codes = append(codes, value)
				}
			}
			return true
		})
	}
	require.Greater(t, len(codes), 25)
	for _, code := range engineCodes {
		codes = append(codes, code)
	}
	for _, code := range []fault.Code{
		fault.Cancelled, fault.DeadlineExceeded, fault.OwnerClosed, fault.OperationConflict, fault.Unavailable, fault.PermissionDenied, fault.ResourceExhausted,
		fault.InvalidInput, fault.InvalidResult, fault.Uncertain, fault.ExecutionFailed, fault.Lagged, fault.Disconnected, fault.ProtocolError, fault.ChannelLost,
	} {
		codes = append(codes, string(code))
	}
	for _, code := range codes {
		require.True(t, slices.Contains(closed, code), code)
	}
}

// rule: J-035, J-036, P-185
func TestACodeDecidesTheExitStatus(t *testing.T) {
	for _, code := range []string{
		"JIG_RUN_INPUT_INVALID", "JIG_RUN_TARGET_INVALID", "JIG_RUN_TIMEOUT_INVALID", project.CodeDeclarationInvalid, project.CodeHTTPUnavailable, "PROJECT_ACP_CODEX_LOGIN",
		"JIG_CHANGES_DECLINED", "INVALID_REQUEST", "PROJECT_NOT_FOUND", "PROJECT_UNSAFE", "PROJECT_STATE_INVALID", "INVALID_CANDIDATE", "PLAN_NOT_FOUND", "STALE_PLAN",
	} {
		require.Equal(t, 1, exitOf(code), code)
	}
	for _, code := range []string{"JIG_USAGE", "JIG_APPROVAL_REQUIRED", "JIG_AUTHORITY_APPROVAL_REQUIRED", "REVIEW_REQUIRED", "ADMISSION_MISSING", "PROJECT_BUSY", "UNAVAILABLE", "INTERNAL"} {
		require.Equal(t, 2, exitOf(code), code)
	}
}

// rule: J-019, J-020
func TestTextOfOthersIsEscapedAndBounded(t *testing.T) {
	for in, want := range map[string]string{
		"plain text, é 中 🐣":            "plain text, é 中 🐣",
		"a\x1b[31mb":                   `a\u{1b}[31mb`,
		"a\u202eb\u2066c\u200bd\ufeff": `a\u{202e}b\u{2066}c\u{200b}d\u{feff}`,
		"a\nb\tc\rd":                   `a\nb\tc\rd`,
		"\u009b31m\u0085":              `\u{9b}31m\u{85}`,
		"a\u2028b\u2029":               `a\u{2028}b\u{2029}`,
		"bad\xffbyte":                  `bad\xffbyte`,
		"\ufffd":                       `\u{fffd}`,
		"\u3164\u115f\u034f\ufe0f":     `\u{3164}\u{115f}\u{34f}\u{fe0f}`,
		"\U000e0041":                   `\u{e0041}`,
		"nb\u00a0sp":                   `nb\u{a0}sp`,
	} {
		require.Equal(t, want, escape(in))
	}
	long := escape(strings.Repeat("x", maxShown+100))
	require.Less(t, len(long), maxShown+10)
	require.True(t, strings.HasSuffix(long, "…"))
	require.Equal(t, strings.Repeat("x", maxShown), escape(strings.Repeat("x", maxShown)))
}

func FuzzEscapeIsSafe(f *testing.F) {
	for _, s := range []string{"", "a", "\x1b", "\u202e\u200b", "\xff\xfe", "🐣\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range escape(s) {
			if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r >= 0x200b && r <= 0x200f || r == 0x2028 || r == 0x2029 {
				t.Fatalf("%q lets %U pass", s, r)
			}
		}
	})
}
