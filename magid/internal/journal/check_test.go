package journal

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/wirev2"
)

// with changes a record for a table.
func with[T any](rec *T, change func(*T)) *T {
	change(rec)
	return rec
}

// rule: W-152, W-285, W-286, W-287
func TestMembersAreCheckedAtTheirLimits(t *testing.T) {
	type (
		session  = wirev2.SessionRecord
		userRec  = wirev2.UserRecord
		contract = wirev2.ToolContractRecord
		reply    = wirev2.AssistantRecord
		call     = wirev2.ToolCallRecord
		result   = wirev2.ToolResultRecord
		terminal = wirev2.TerminalRecord
	)
	many := func(n int) (ids []wirev2.ID) {
		for i := range n {
			ids = append(ids, id(1000+i))
		}
		return ids
	}
	failed := func(code wirev2.TurnCode, message string) *terminal {
		return with(completed(""), func(r *terminal) {
			r.Status, r.Error = wirev2.TerminalFailed, &wirev2.TurnError{Code: code, Message: message}
		})
	}
	x := strings.Repeat
	for _, test := range []struct {
		name string
		rec  wirev2.Record
		why  string // "" passes
	}{
		{"workspace 4095", with(sessionRecord(), func(r *session) { r.Workspace = "/" + x("w", 4094) }), ""},
		{"workspace 4096", with(sessionRecord(), func(r *session) { r.Workspace = "/" + x("w", 4095) }), ""},
		{"workspace 4097", with(sessionRecord(), func(r *session) { r.Workspace = "/" + x("w", 4096) }), "longer than 4096"},
		{"workspace relative", with(sessionRecord(), func(r *session) { r.Workspace = "w" }), "absolute"},
		{"workspace with NUL", with(sessionRecord(), func(r *session) { r.Workspace = "/\x00" }), "absolute"},
		{"title null", with(sessionRecord(), func(r *session) { r.Title = nil }), ""},
		{"title 255", with(sessionRecord(), func(r *session) { r.Title = new(x("t", 255)) }), ""},
		{"title 256", with(sessionRecord(), func(r *session) { r.Title = new(x("t", 256)) }), ""},
		{"title 257", with(sessionRecord(), func(r *session) { r.Title = new(x("t", 257)) }), "longer than 256"},
		{"session id", with(sessionRecord(), func(r *session) { r.SessionID = "X" }), "UUID"},
		{"prompt 0", with(user(), func(r *userRec) { r.Prompt = "" }), "empty"},
		{"prompt 1", with(user(), func(r *userRec) { r.Prompt = "p" }), ""},
		{"prompt 24575", with(user(), func(r *userRec) { r.Prompt = x("p", 24575) }), ""},
		{"prompt 24576", with(user(), func(r *userRec) { r.Prompt = x("p", 24576) }), ""},
		{"prompt 24577", with(user(), func(r *userRec) { r.Prompt = x("p", 24577) }), "longer than 24576"},
		{"prompt with NUL", with(user(), func(r *userRec) { r.Prompt = "a\x00" }), "NUL"},
		{"no manifest member", with(user(), func(r *userRec) { r.ApplicationManifest.Present = false }), "missing"},
		{"user id", with(user(), func(r *userRec) { r.OperationID = "" }), "UUID"},
		{"contract", toolContract(), ""},
		{"contract id", with(toolContract(), func(r *contract) { r.RevisionID = "" }), "UUID"},
		{"contract hash 63", with(toolContract(), func(r *contract) { r.RevisionSHA256 = sha[1:] }), "SHA-256"},
		{"contract hash 65", with(toolContract(), func(r *contract) { r.RevisionSHA256 = sha + "0" }), "SHA-256"},
		{"contract hash upper", with(toolContract(), func(r *contract) { r.RevisionSHA256 = strings.ToUpper(sha) }), "SHA-256"},
		{"contract name", with(toolContract(), func(r *contract) { r.Name = "" }), "name"},
		{"contract schema", with(toolContract(), func(r *contract) { r.OutputSchema = jsontext.Value("null") }), "schema"},
		{"timeout 999", with(toolContract(), func(r *contract) { r.TimeoutMS = 999 }), "timeout_ms"},
		{"timeout 1000", with(toolContract(), func(r *contract) { r.TimeoutMS = 1000 }), ""},
		{"timeout 600000", with(toolContract(), func(r *contract) { r.TimeoutMS = 600000 }), ""},
		{"timeout 600001", with(toolContract(), func(r *contract) { r.TimeoutMS = 600001 }), "timeout_ms"},
		{"text 19999", assistant(x("t", 19999)), ""},
		{"text 20000", assistant(x("t", 20000)), ""},
		{"text 20001", assistant(x("t", 20001)), "longer than 20000"},
		{"calls 63", assistant("", many(63)...), ""},
		{"calls 64", assistant("", many(64)...), ""},
		{"calls 65", assistant("", many(65)...), "more than 64"},
		{"reply id", with(assistant(""), func(r *reply) { r.TurnID = "" }), "UUID"},
		{"listed id", assistant("", "x"), "UUID"},
		{"provider id 0", with(builtin(callA), func(r *call) { r.ProviderCallID = "" }), "provider_call_id"},
		{"provider id 1", with(builtin(callA), func(r *call) { r.ProviderCallID = "p" }), ""},
		{"provider id 127", with(builtin(callA), func(r *call) { r.ProviderCallID = x("p", 127) }), ""},
		{"provider id 128", with(builtin(callA), func(r *call) { r.ProviderCallID = x("p", 128) }), ""},
		{"provider id 129", with(builtin(callA), func(r *call) { r.ProviderCallID = x("p", 129) }), "provider_call_id"},
		{"call name", with(builtin(callA), func(r *call) { r.Name = "" }), "name"},
		{"arguments array", with(builtin(callA), func(r *call) { r.Arguments = jsontext.Value("[]") }), "neither an object nor null"},
		{"arguments text 1023", with(invalidCall(callA), func(r *call) { r.ArgumentsText = new(x("a", 1023)) }), ""},
		{"arguments text 1024", with(invalidCall(callA), func(r *call) { r.ArgumentsText = new(x("a", 1024)) }), ""},
		{"arguments text 1025", with(invalidCall(callA), func(r *call) { r.ArgumentsText = new(x("a", 1025)) }), "longer than 1024"},
		{"arguments text empty", with(invalidCall(callA), func(r *call) { r.ArgumentsText = new("") }), ""},
		{"both arguments", with(builtin(callA), func(r *call) { r.ArgumentsText = new("x") }), "beside valid arguments"},
		{"resource alone", with(builtin(callA), func(r *call) { r.ResourceID = new(resource) }), "null together"},
		{"revision alone", with(builtin(callA), func(r *call) { r.RevisionID = new(revision) }), "null together"},
		{"hash alone", with(builtin(callA), func(r *call) { r.RevisionSHA256 = new(sha) }), "null together"},
		{"resource id", with(application(callA), func(r *call) { r.ResourceID = ptr(wirev2.ID("x")) }), "UUID"},
		{"call hash", with(application(callA), func(r *call) { r.RevisionSHA256 = new("x") }), "SHA-256"},
		{"call id", with(builtin(callA), func(r *call) { r.CallID = "" }), "UUID"},
		{"success", success(callA), ""},
		{"success without value", with(success(callA), func(r *result) { r.Value = nil }), "value"},
		{"success with value null", with(success(callA), func(r *result) { r.Value = jsontext.Value("null") }), ""},
		{"success with code", with(success(callA), func(r *result) { r.Code = ptr(wirev2.ToolCancelled) }), "neither code"},
		{"success with message", with(success(callA), func(r *result) { r.Message = new("") }), "neither code"},
		{"success synthetic", with(success(callA), func(r *result) { r.Synthetic = true }), "never synthetic"},
		{"error", synthetic(callA), ""},
		{"error with empty message", with(synthetic(callA), func(r *result) { r.Message = new("") }), ""},
		{"error without message", with(synthetic(callA), func(r *result) { r.Message = nil }), "a message"},
		{"error without code", with(synthetic(callA), func(r *result) { r.Code = nil }), "a code"},
		{"error with value", with(synthetic(callA), func(r *result) { r.Value = jsontext.Value("1") }), "no value"},
		{"error reported", with(synthetic(callA), func(r *result) { r.Synthetic, r.ExternalEffects = false, wirev2.EffectsReported }), ""},
		{"error synthetic reported", with(synthetic(callA), func(r *result) { r.ExternalEffects = wirev2.EffectsReported }), "reports no effects"},
		{"error uncertain", with(synthetic(callA), func(r *result) { r.ExternalEffects = wirev2.EffectsUncertain }), ""},
		{"effects", with(synthetic(callA), func(r *result) { r.ExternalEffects = "none" }), "external_effects"},
		{"result status", with(synthetic(callA), func(r *result) { r.Status = "done" }), "status"},
		{"result id", with(success(callA), func(r *result) { r.CallID = "" }), "UUID"},
		{"completed", completed(""), ""},
		{"completed with error", with(completed(""), func(r *terminal) { r.Error = &wirev2.TurnError{Code: wirev2.TurnInternal} }), "has an error"},
		{"cancelled", with(completed(""), func(r *terminal) { r.Status = wirev2.TerminalCancelled }), ""},
		{"failed without error", with(completed(""), func(r *terminal) { r.Status = wirev2.TerminalFailed }), "no error"},
		{"failed 511", failed(wirev2.TurnInternal, x("m", 511)), ""},
		{"failed 512", failed(wirev2.TurnInternal, x("m", 512)), ""},
		{"failed 513", failed(wirev2.TurnInternal, x("m", 513)), "one line of at most 512"},
		{"failed on two lines", failed(wirev2.TurnInternal, "a\nb"), "one line"},
		{"failed code", failed("turn_active", ""), "no terminal error code"},
		{"terminal status", with(completed(""), func(r *terminal) { r.Status = "done" }), "status"},
		{"terminal text 20000", completed(x("t", 20000)), ""},
		{"terminal text 20001", completed(x("t", 20001)), "longer than 20000"},
		{"usage", with(completed(""), func(r *terminal) { r.Usage.OutputTokens = -1 }), "negative"},
		{"terminal id", with(completed(""), func(r *terminal) { r.OperationID = "" }), "UUID"},
		{"no record", nil, "unknown type"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := check(test.rec)
			if test.why == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, test.why)
		})
	}
}

// rule: W-192
func TestATerminalTakesTheSixCodes(t *testing.T) {
	for _, code := range []wirev2.TurnCode{
		"provider_unavailable", "provider_error", "tool_failed", "limit_exceeded", "journal_failed", "internal",
	} {
		r := completed("")
		r.Status, r.Error = wirev2.TerminalFailed, &wirev2.TurnError{Code: code}
		require.NoError(t, check(r))
	}
	for _, code := range []wirev2.Code{"conflict", "configuration_busy", "preparation_failed", "provider_unconfigured", ""} {
		r := completed("")
		r.Status, r.Error = wirev2.TerminalFailed, &wirev2.TurnError{Code: wirev2.TurnCode(code)}
		require.Error(t, check(r))
	}
}

// rule: W-011
func TestALineFitsAHistoryReplyAlone(t *testing.T) {
	_, store := state(t)
	s := newSession(t, store)
	require.NoError(t, s.Append(user(), assistant("", callA, callB), builtin(callA), builtin(callB)))
	of := func(call wirev2.ID, size int) *wirev2.ToolResultRecord {
		r := success(call)
		r.Value = jsontext.Value(`""`)
		*r.Head() = wirev2.RecordHead{N: 6, At: "2026-01-02T03:04:05.678Z", Type: wirev2.RecordToolResult}
		empty, err := wirev2.EncodeRecord(r)
		require.NoError(t, err)
		r.Value = jsontext.Value(`"` + strings.Repeat("v", size-len(empty)) + `"`)
		return r
	}
	require.ErrorIs(t, s.Append(of(callA, MaxRecordBytes+1)), ErrRefused)
	require.NoError(t, s.Append(of(callA, MaxRecordBytes)))
	require.NoError(t, s.Append(of(callB, MaxRecordBytes-1)))
	s = reopen(t, store, s)
	for n, want := range map[int64]int{6: MaxRecordBytes, 7: MaxRecordBytes - 1} {
		page, err := s.Read(View{After: n - 1, MaxBytes: 1})
		require.NoError(t, err)
		require.Len(t, page.Records, 1)
		require.Len(t, page.Records[0], want)
		next := page.NextAfter
		reply, err := wirev2.EncodePayload(wirev2.SessionHistoryReply{Records: page.Records, NextAfter: &next})
		require.NoError(t, err)
		require.LessOrEqual(t, len(reply), 49152)
	}
}

func TestAValueTooDeepToBeShownIsRefused(t *testing.T) {
	_, store := state(t)
	s := newSession(t, store)
	require.NoError(t, s.Append(user(), assistant("", callA, callB), builtin(callA), builtin(callB)))
	nested := func(call wirev2.ID, depth int) *wirev2.ToolResultRecord {
		r := success(call)
		r.Value = jsontext.Value(strings.Repeat("[", depth) + strings.Repeat("]", depth))
		return r
	}
	// In a history reply a record is the fourth level, so its value may take 28 of the 32.
	require.ErrorIs(t, s.Append(nested(callA, 29)), ErrRefused)
	require.NoError(t, s.Append(nested(callA, 28)))
	require.NoError(t, s.Append(nested(callB, 27)))
	reopen(t, store, s)
}
