package appresources

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func requireCode(t *testing.T, want Code, err error) {
	t.Helper()
	require.Error(t, err)
	require.Equal(t, want, CodeOf(err), "%v", err)
}

func requireBudget(t *testing.T, want Budget, err error) {
	t.Helper()
	var refusal *Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, CodeLimitExceeded, refusal.Code)
	require.Equal(t, want, refusal.Budget)
	require.Contains(t, refusal.Message, string(want))
}

// rule: A-176, M-087
func TestNamesAreLowerCaseIdentifiersOf1To48Bytes(t *testing.T) {
	for _, name := range []string{"a", "z9_", "a__", strings.Repeat("a", 47), strings.Repeat("a", 48)} {
		require.NoError(t, CheckName(name), "%q", name)
	}
	for _, name := range []string{
		"", strings.Repeat("a", 49), "A", "aB", "_a", "9a", "a-b", "a b", "a.b", "ä", "a\n", "a\x00", "aé", "a/b", " a", "a ",
	} {
		requireCode(t, CodeInvalidPayload, CheckName(name))
	}
}

// rule: A-177, M-086, M-087
func TestDescriptionsAreTextOfAtMost512Bytes(t *testing.T) {
	for _, text := range []string{
		"", "x", "a\nb\tc", "Grüße – 日本", "\u2028\u2029\u00a0\u200b", strings.Repeat("a", 511), strings.Repeat("a", 512),
		strings.Repeat("ü", 256),
	} {
		require.NoError(t, CheckDescription(text), "%q", text)
	}
	for _, text := range []string{
		strings.Repeat("a", 513), strings.Repeat("ü", 256) + "a", "\x00", "a\rb", "\x1f", "\x7f", "\u0080", "\u0085", "\u009f",
		"\x1b[31m", "\xff", "\xed\xa0\x80",
	} {
		requireCode(t, CodeInvalidPayload, CheckDescription(text))
	}
}

func TestKindsAreToolAndSkill(t *testing.T) {
	require.NoError(t, CheckKind(KindTool))
	require.NoError(t, CheckKind(KindSkill))
	for _, k := range []Kind{"", "Tool", "skills", "prompt"} {
		requireCode(t, CodeInvalidPayload, CheckKind(k))
	}
}

// rule: A-034
func TestSkillTextIsPlainUTF8TakenAsItIs(t *testing.T) {
	for _, text := range []string{"", "x", "\ufeffx", "a\r\nb\x01\x7f", "!include /etc/hosts", "${HOME} `id`", "🎈"} {
		require.NoError(t, CheckSkill(text), "%q", text)
	}
	for _, text := range []string{"a\x00", "\xff", "a\xc3", "\xed\xa0\x80"} {
		requireCode(t, CodeInvalidPayload, CheckSkill(text))
	}
}

// rule: M-087
func TestFormErrorsQuoteNothing(t *testing.T) {
	const canary = "hunter2"
	for _, err := range []error{
		CheckName("X" + canary), CheckName(strings.Repeat(canary, 9)), CheckDescription(canary + "\r"),
		CheckKind(Kind(canary)), CheckSkill(canary + "\x00"),
	} {
		requireCode(t, CodeInvalidPayload, err)
		require.NotContains(t, err.Error(), canary)
		require.NotContains(t, err.Error(), "\n")
	}
}
