package journal

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

// id makes a UUID that a reader of a failing test recognises.
func id(n int) wirev2.ID { return wirev2.ID(fmt.Sprintf("00000000-0000-4000-8000-%012d", n)) }

//go:fix inline
func ptr[T any](v T) *T { return new(v) }

const sha = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

var (
	sessionID = id(1)
	turnID    = id(2)
	operation = id(3)
	callA     = id(4)
	callB     = id(5)
	resource  = id(6)
	revision  = id(7)
)

func sessionRecord() *wirev2.SessionRecord {
	return &wirev2.SessionRecord{SessionID: sessionID, Workspace: "/work/space", Title: new("a title")}
}

func user() *wirev2.UserRecord {
	return &wirev2.UserRecord{TurnID: turnID, OperationID: operation, Prompt: "do it", ApplicationManifest: wirev2.ManifestMember{Present: true}}
}

func manifestUser() *wirev2.UserRecord {
	u := user()
	u.ApplicationManifest.Manifest = &wirev2.Manifest{
		Profile: wirev2.CapabilityApplicationResources, RegistryRevision: id(30), Resources: []wirev2.Descriptor{},
		Tools:              []wirev2.ToolManifest{},
		AcceptedController: wirev2.Attribution{InstanceID: id(31), ConnectionID: id(32), OperationID: operation, GrantGeneration: 1},
	}
	return u
}

func toolContract() *wirev2.ToolContractRecord {
	return &wirev2.ToolContractRecord{
		TurnID: turnID, ResourceID: resource, RevisionID: revision, RevisionSHA256: sha, Name: "tool", Description: "does it",
		InputSchema:  jsontext.Value(`{"type":"object"}`),
		OutputSchema: jsontext.Value(`{"type":"object"}`), TimeoutMS: 1000,
	}
}

func assistant(text string, calls ...wirev2.ID) *wirev2.AssistantRecord {
	return &wirev2.AssistantRecord{TurnID: turnID, Text: text, ToolCalls: append([]wirev2.ID{}, calls...)}
}

// builtin is a call of a built-in tool.
func builtin(call wirev2.ID) *wirev2.ToolCallRecord {
	return &wirev2.ToolCallRecord{
		TurnID: turnID, CallID: call, ProviderCallID: "p-" + string(call), Name: "read_file", Arguments: jsontext.Value(`{"path":"x"}`),
	}
}

// application is a call of an application's tool.
func application(call wirev2.ID) *wirev2.ToolCallRecord {
	r := builtin(call)
	r.Name, r.ResourceID, r.RevisionID, r.RevisionSHA256 = "tool", new(resource), new(revision), new(sha)
	return r
}

// invalidCall is an application's call whose arguments were no JSON.
func invalidCall(call wirev2.ID) *wirev2.ToolCallRecord {
	r := application(call)
	r.Arguments, r.ArgumentsText = jsontext.Value("null"), new(`{"a":`)
	return r
}

func success(call wirev2.ID) *wirev2.ToolResultRecord {
	return &wirev2.ToolResultRecord{
		TurnID: turnID, CallID: call, Status: wirev2.OutcomeSuccess, Value: jsontext.Value(`{"ok":true}`), ExternalEffects: wirev2.EffectsReported,
	}
}

func synthetic(call wirev2.ID) *wirev2.ToolResultRecord {
	return &wirev2.ToolResultRecord{
		TurnID: turnID, CallID: call, Status: wirev2.OutcomeError, Code: ptr(wirev2.ToolCancelled), Message: new("stopped"),
		Synthetic: true, ExternalEffects: wirev2.EffectsNotDispatched,
	}
}

func completed(text string) *wirev2.TerminalRecord {
	return &wirev2.TerminalRecord{
		TurnID: turnID, OperationID: operation, Status: wirev2.TerminalCompleted, Text: text,
		Usage: &wirev2.Usage{InputTokens: 3, OutputTokens: 4},
	}
}

// state is a fresh state folder with its store.
func state(t testing.TB) (string, *Store) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "state")
	return dir, openStore(t, dir)
}

func openStore(t testing.TB, dir string) *Store {
	t.Helper()
	store, err := Open(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, store.Close()) })
	return store
}

// newSession makes the session of these tests.
func newSession(t testing.TB, store *Store) *Session {
	t.Helper()
	s, err := store.Create(sessionRecord())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

func reopen(t testing.TB, store *Store, s *Session) *Session {
	t.Helper()
	if s != nil {
		require.NoError(t, s.Close())
	}
	again, err := store.Open(sessionID)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, again.Close()) })
	return again
}

func journalFile(dir string) string {
	return filepath.Join(dir, sessionsFolder, string(sessionID), journalName)
}

func fileLines(t testing.TB, dir string) []string {
	t.Helper()
	b, err := os.ReadFile(journalFile(dir))
	require.NoError(t, err)
	require.True(t, bytes.HasSuffix(b, []byte("\n")))
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// body is a journal line without its head.
func body(t testing.TB, line string) string {
	t.Helper()
	_, rest, ok := strings.Cut(line, `","type":"`)
	require.True(t, ok, line)
	_, rest, ok = strings.Cut(rest, `",`)
	require.True(t, ok, line)
	return "{" + rest
}

// all reads the whole history.
func all(t testing.TB, s *Session) []wirev2.Record {
	t.Helper()
	var recs []wirev2.Record
	var after int64
	for {
		page, err := s.Read(View{After: after})
		require.NoError(t, err)
		for _, raw := range page.Records {
			rec, err := wirev2.DecodeRecord(raw)
			require.NoError(t, err)
			recs = append(recs, rec)
		}
		if page.NextAfter == 0 {
			return recs
		}
		after = page.NextAfter
	}
}

func types(recs []wirev2.Record) (names []wirev2.RecordType) {
	for _, r := range recs {
		names = append(names, r.RecordType())
	}
	return names
}
