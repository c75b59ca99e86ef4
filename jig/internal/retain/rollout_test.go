package retain

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	session  = "01a22a81-ff3c-7a80-a03d-0823c99143cd"
	turn     = "01a22a81-ff4b-7053-b0ea-502ea9219fad"
	nextTurn = "01a22a81-ffe1-72d0-a850-a7cc7cd512ba"
	at       = "sessions/2026/11/30/rollout-2026-11-30T03-31-32-" + session + ".jsonl"
)

// entry is a record by its type and its payload.
type entry struct{ kind, payload string }

const (
	metaPayload = `{"session_id":"` + session + `","id":"` + session + `","timestamp":"2026-11-30T03:31:32.285Z","cwd":"/work","originator":"jig",` +
		`"cli_version":"0.154.0","source":"vscode","model_provider":"jig","base_instructions":{"text":"be brief"},"history_mode":"paginated","context_window":{"window_id":"w"}}`
	contextPayload = `{"turn_id":"` + turn + `","root_turn_id":"` + turn + `","cwd":"/work","approval_policy":"on-request",` +
		`"sandbox_policy":{"type":"workspace-write","network_access":false,"exclude_tmpdir_env_var":false,"exclude_slash_tmp":false},"model":"m","summary":"auto"}`
	itemPayload = `{"type":"item_completed","thread_id":"` + session + `","turn_id":"` + turn + `","item":{"type":"UserMessage","id":"i"}}`
	lastPayload = `{"type":"task_complete","turn_id":"` + turn + `","last_agent_message":"Hello."}`
)

// The places of records in good.
const (
	atMeta = iota
	atStart
	atDeveloper
	atUser
	atWorld
	atContext
	atItem
	atReasoning
	atAssistant
	atUsage
	atTokens
	atEnd
)

func good() []entry {
	return []entry{
		{"session_meta", metaPayload},
		{"event_msg", `{"type":"task_started","turn_id":"` + turn + `","started_at":1796009492}`},
		{"response_item", `{"type":"message","id":"m1","role":"developer","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}],"create_time":1796009492.3624017}`},
		{"response_item", `{"type":"message","role":"user","content":[{"type":"input_text","text":"say hello"}]}`},
		{"world_state", `{"full":true,"state":{}}`},
		{"turn_context", contextPayload},
		{"event_msg", itemPayload},
		{"response_item", `{"type":"reasoning","summary":[]}`},
		{"response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Hello."}]}`},
		{"token_usage_record", `{"thread_id":"` + session + `"}`},
		{"event_msg", `{"type":"token_count","info":null}`},
		{"event_msg", lastPayload},
	}
}

// with replaces the payload of one record of good.
func with(place int, payload string) []entry {
	all := good()
	all[place].payload = payload
	return all
}

// after adds a record behind one of good.
func after(place int, e entry) []entry {
	all := good()
	return append(all[:place+1:place+1], append([]entry{e}, all[place+1:]...)...)
}

func event(payload string) entry { return entry{"event_msg", payload} }

// written is a rollout of these records.
func written(all []entry) string {
	var b strings.Builder
	for i, e := range all {
		fmt.Fprintf(&b, `{"timestamp":"2026-11-30T03:31:32.308Z","ordinal":%d,"type":"%s","payload":%s}`+"\n", i, e.kind, e.payload)
	}
	return b.String()
}

func swap(payload, old, new string) string {
	if !strings.Contains(payload, old) {
		panic("nothing to replace: " + old)
	}
	return strings.Replace(payload, old, new, 1)
}

func TestAnOrdinaryRolloutIsKept(t *testing.T) {
	// rule: F-126, P-134, P-136, P-137, P-138, P-139, P-140, P-141, P-142, P-143, P-144, J-222
	policy := `{"type":"workspace-write","network_access":false,"exclude_tmpdir_env_var":false,"exclude_slash_tmp":false}`
	for name, all := range map[string][]entry{
		"one turn": good(),
		"two turns": append(good(),
			event(`{"type":"task_started","turn_id":"`+nextTurn+`"}`),
			entry{"turn_context", strings.ReplaceAll(contextPayload, turn, nextTurn)},
			event(strings.ReplaceAll(lastPayload, turn, nextTurn))),
		"a turn without an answer": with(atEnd, swap(lastPayload, `"Hello."`, `null`)),
		"an error that is none":    with(atEnd, swap(lastPayload, `"Hello."`, `"Hello.","error":null`)),
		"a read-only sandbox":      with(atContext, swap(contextPayload, policy, `{"type":"read-only"}`)),
		"no approvals":             with(atContext, swap(contextPayload, "on-request", "never")),
		"no writable roots":        with(atContext, swap(contextPayload, `"exclude_slash_tmp":false`, `"exclude_slash_tmp":false,"writable_roots":[]`)),
		"more in a context":        with(atContext, swap(contextPayload, `"model":"m"`, `"model":"m","permission_profile":{"type":"managed"},"later":1`)),
		"a short meta record":      with(atMeta, `{"session_id":"`+session+`","id":"`+session+`","cwd":"/work","cli_version":"0.154.0"}`),
		"every event":              after(atTokens, event(`{"type":"thread_settings_applied"}`)),
		"reasoning in words":       after(atItem, event(`{"type":"agent_reasoning","text":"x"}`)),
		"raw reasoning":            after(atItem, event(`{"type":"agent_reasoning_raw_content","text":"x"}`)),
		"older messages":           after(atItem, event(`{"type":"agent_message","message":"x"}`)),
		"older prompts":            after(atStart, event(`{"type":"user_message","message":"x"}`)),
		"an agent's item":          after(atItem, event(swap(itemPayload, "UserMessage", "AgentMessage"))),
		"a reasoning item":         after(atItem, event(swap(itemPayload, "UserMessage", "Reasoning"))),
		"a system message":         with(atUser, `{"type":"message","role":"system","content":[]}`),
		"items outside of a turn":  after(atMeta, entry{"response_item", `{"type":"reasoning"}`}),
	} {
		require.NoError(t, Check(at, []byte(written(all)), session), name)
	}
	spaced := strings.ReplaceAll(written(good()), `"ordinal":3,`, `"ordinal" : 3.0 ,`)
	require.NoError(t, Check(at, []byte(spaced), session), "numbers are equal by value")
}

func TestEveryMutationOfARolloutIsRefused(t *testing.T) {
	// rule: F-126, F-127, P-136, P-137, P-138, P-139, P-140, P-141, P-142, P-143, P-144, P-145, J-223, J-224
	meta := func(old, new string) []entry { return with(atMeta, swap(metaPayload, old, new)) }
	context := func(old, new string) []entry { return with(atContext, swap(contextPayload, old, new)) }
	policy := func(text string) []entry {
		return context(`{"type":"workspace-write","network_access":false,"exclude_tmpdir_env_var":false,"exclude_slash_tmp":false}`, text)
	}
	const write = `"type":"workspace-write","network_access":false,"exclude_tmpdir_env_var":false,"exclude_slash_tmp":false`
	without := func(place int) []entry {
		all := good()
		return append(all[:place:place], all[place+1:]...)
	}
	for name, c := range map[string]struct {
		all []entry
		why string
	}{
		"a later version":              {meta("0.154.0", "0.154.1"), "another version"},
		"an earlier version":           {meta("0.154.0", "0.153.0"), "another version"},
		"no version":                   {meta(`"cli_version":"0.154.0",`, ""), "another version"},
		"another id":                   {meta(`"id":"`+session, `"id":"`+turn), "another session"},
		"another session id":           {meta(`"session_id":"`+session, `"session_id":"`+turn), "another session"},
		"no session id":                {meta(`"session_id":"`+session+`",`, ""), "another session"},
		"another folder":               {meta(`"/work"`, `"/work/x"`), "another folder"},
		"git":                          {meta(`"originator"`, `"git":{},"originator"`), "may not have"},
		"a fork":                       {meta(`"originator"`, `"forked_from":"x","originator"`), "may not have"},
		"dynamic tools":                {meta(`"originator"`, `"dynamic_tools":[],"originator"`), "may not have"},
		"a member in capitals":         {meta(`"cwd"`, `"CWD"`), "may not have"},
		"a meta record that is none":   {with(atMeta, `[]`), "a payload"},
		"no meta record":               {without(atMeta), "the first"},
		"a second meta record":         {after(atEnd-1, entry{"session_meta", metaPayload}), "the first"},
		"a turn in a turn":             {after(atStart, event(`{"type":"task_started","turn_id":"x"}`)), "inside another"},
		"a turn without a name":        {with(atStart, `{"type":"task_started"}`), "without a name"},
		"a turn with an empty name":    {with(atStart, `{"type":"task_started","turn_id":""}`), "without a name"},
		"another turn's end":           {with(atEnd, swap(lastPayload, turn, nextTurn)), "not under way"},
		"an end without a turn":        {after(atEnd, event(lastPayload)), "not under way"},
		"a failed turn":                {with(atEnd, swap(lastPayload, `"Hello."`, `null,"error":{"message":"x"}`)), "a turn failed"},
		"a turn that failed in words":  {with(atEnd, swap(lastPayload, `"Hello."`, `null,"error":"x"`)), "a turn failed"},
		"an interrupted turn":          {with(atEnd, `{"type":"turn_aborted","turn_id":"`+turn+`"}`), "another type"},
		"an item of no turn":           {after(atMeta, event(itemPayload)), "belongs to no turn"},
		"an item of another turn":      {with(atItem, swap(itemPayload, turn, nextTurn)), "belongs to no turn"},
		"an item of another session":   {with(atItem, swap(itemPayload, session, nextTurn)), "belongs to no turn"},
		"a command that ran":           {with(atItem, swap(itemPayload, "UserMessage", "CommandExecution")), "neither a message"},
		"an item without a type":       {with(atItem, swap(itemPayload, `"type":"UserMessage",`, "")), "neither a message"},
		"no item":                      {with(atItem, swap(itemPayload, `"item":{"type":"UserMessage","id":"i"}`, `"x":1`)), "neither a message"},
		"a tool's begin":               {after(atItem, event(`{"type":"exec_command_begin"}`)), "another type"},
		"an event without a type":      {after(atItem, event(`{}`)), "cannot be read"},
		"a tool call":                  {after(atItem, entry{"response_item", `{"type":"function_call","name":"shell"}`}), "neither a message"},
		"a tool's output":              {after(atItem, entry{"response_item", `{"type":"function_call_output"}`}), "neither a message"},
		"an item of no type":           {after(atItem, entry{"response_item", `{}`}), "cannot be read"},
		"a tool's message":             {with(atUser, `{"type":"message","role":"tool","content":[]}`), "no role"},
		"a message without a role":     {with(atUser, `{"type":"message","content":[]}`), "no role"},
		"a message without content":    {with(atUser, `{"type":"message","role":"user"}`), "no role"},
		"an image":                     {with(atUser, `{"type":"message","role":"user","content":[{"type":"input_image"}]}`), "no text"},
		"a part that is a text":        {with(atUser, `{"type":"message","role":"user","content":["x"]}`), "no text"},
		"a context of no turn":         {after(atMeta, entry{"turn_context", contextPayload}), "no turn"},
		"a context of another turn":    {context(`"turn_id":"`+turn, `"turn_id":"`+nextTurn), "no turn"},
		"a context without a turn":     {context(`"turn_id":"`+turn+`",`, ""), "no turn"},
		"a turn elsewhere":             {context(`"/work"`, `"/"`), "another folder"},
		"approval on failure":          {context("on-request", "on-failure"), "approval"},
		"approval of the untrusted":    {context("on-request", "untrusted"), "approval"},
		"no approval policy":           {context(`"approval_policy":"on-request",`, ""), "approval"},
		"no sandbox":                   {policy(`{"type":"danger-full-access"}`), "sandbox"},
		"a sandbox of no type":         {policy(`{}`), "sandbox"},
		"a sandbox that is a text":     {policy(`"read-only"`), "sandbox"},
		"a sandbox that is null":       {policy(`null`), "sandbox"},
		"a read-only one with more":    {policy(`{"type":"read-only","network_access":false}`), "sandbox"},
		"network":                      {policy(`{` + swap(write, `"network_access":false`, `"network_access":true`) + `}`), "sandbox"},
		"network unsaid":               {policy(`{` + swap(write, `"network_access":false,`, ``) + `}`), "sandbox"},
		"no TMPDIR":                    {policy(`{` + swap(write, `env_var":false`, `env_var":true`) + `}`), "sandbox"},
		"no /tmp":                      {policy(`{` + swap(write, `slash_tmp":false`, `slash_tmp":true`) + `}`), "sandbox"},
		"a writable root":              {policy(`{` + write + `,"writable_roots":["/home"]}`), "sandbox"},
		"writable roots that are null": {policy(`{` + write + `,"writable_roots":null}`), "sandbox"},
		"an extra key":                 {policy(`{` + write + `,"read_only_access":{}}`), "sandbox"},
		"compaction":                   {after(atAssistant, entry{"compacted", `{}`}), "another type"},
		"a type that does not exist":   {after(atAssistant, entry{"later", `{}`}), "another type"},
		"no end of the turn":           {without(atEnd), "has no end"},
		"no turn":                      {good()[:1], "not its last record"},
		"a record behind the end":      {after(atEnd, event(`{"type":"token_count"}`)), "not its last record"},
		"a world behind the end":       {after(atEnd, entry{"world_state", `{}`}), "not its last record"},
	} {
		err := Check(at, []byte(written(c.all)), session)
		require.ErrorIs(t, err, ErrUnsupported, name)
		require.ErrorContains(t, err, c.why, name)
	}
}

func TestEveryMutationOfARecordIsRefused(t *testing.T) {
	// rule: P-134, P-136, J-223
	whole := written(good())
	for name, c := range map[string]struct{ text, why string }{
		"no newline at the end":    {strings.TrimSuffix(whole, "\n"), "no end"},
		"half a record":            {whole[:len(whole)-20] + "\n", "JSON/0"},
		"an empty line":            {swap(whole, "\n", "\n\n"), "JSON/0"},
		"only a line's end":        {"\n", "JSON/0"},
		"two records in a line":    {swap(whole, "\n", " "), "JSON/0"},
		"a member more":            {swap(whole, `"ordinal":2,`, `"ordinal":2,"more":1,`), "JSON/0"},
		"a member twice":           {swap(whole, `"ordinal":2,`, `"ordinal":2,"ordinal":2,`), "JSON/0"},
		"a member twice below":     {swap(whole, `"full":true`, `"full":true,"full":true`), "JSON/0"},
		"no timestamp":             {swap(whole, `"timestamp":"2026-11-30T03:31:32.308Z",`, ``), "a timestamp"},
		"a number for it":          {swap(whole, `"timestamp":"2026-11-30T03:31:32.308Z"`, `"timestamp":1`), "JSON/0"},
		"no ordinal":               {swap(whole, `"ordinal":2,`, ``), "an ordinal"},
		"an ordinal from one":      {swap(whole, `"ordinal":0,`, `"ordinal":1,`), "not its place"},
		"an ordinal twice":         {swap(whole, `"ordinal":2,`, `"ordinal":1,`), "not its place"},
		"half an ordinal":          {swap(whole, `"ordinal":2,`, `"ordinal":2.5,`), "not its place"},
		"a text for an ordinal":    {swap(whole, `"ordinal":2,`, `"ordinal":"2",`), "JSON/0"},
		"no type":                  {swap(whole, `"type":"world_state",`, ``), "a type"},
		"no payload":               {swap(whole, `,"payload":{"full":true,"state":{}}`, ``), "a payload"},
		"a payload that is a text": {swap(whole, `{"full":true,"state":{}}`, `"x"`), "a payload"},
		"bytes that are no text":   {swap(whole, "say hello", "say \xff"), "JSON/0"},
		"half a surrogate":         {swap(whole, "say hello", `say \ud800`), "JSON/0"},
		"an integer too large":     {swap(whole, "1796009492", "9007199254740993"), "JSON/0"},
		"a byte order mark":        {"\ufeff" + whole, "JSON/0"},
		"nothing":                  {"", "1 to 8,388,608 bytes"},
	} {
		err := Check(at, []byte(c.text), session)
		require.ErrorIs(t, err, ErrUnsupported, name)
		require.ErrorContains(t, err, c.why, name)
	}
}

func TestThePathNamesTheSession(t *testing.T) {
	// rule: P-133
	whole := []byte(written(good()))
	for _, path := range []string{
		"", "sessions/" + session + ".jsonl", at + "/", "/" + at, "./" + at, strings.ToUpper(at), at + ".zst",
		swap(at, "sessions/", "archived/"), swap(at, "2026/", "26/"), swap(at, "/11/", "/1/"), swap(at, "/30/", "/30/x/"),
		swap(at, "rollout-2026", "rollout-x026"), swap(at, "T03-31-32", "T03-31"), swap(at, "T03", "t03"), swap(at, session, turn),
		swap(at, session, strings.ToUpper(session)), swap(at, session, "{"+session+"}"), swap(at, ".jsonl", ".json"),
	} {
		require.ErrorIs(t, Check(path, whole, session), ErrUnsupported, path)
	}
	upper := strings.ToUpper(session)
	require.ErrorIs(t, Check(swap(at, session, upper), []byte(strings.ReplaceAll(string(whole), session, upper)), upper), ErrUnsupported)
}

func TestTheBoundsOfARollout(t *testing.T) {
	// rule: P-134, F-142
	sized := func(n int) []byte {
		all := after(atUser, event(`{"type":"user_message","message":"%"}`))
		text := written(all)
		return []byte(strings.Replace(text, "%", strings.Repeat("x", n-len(text)+1), 1))
	}
	for n, fine := range map[int]bool{MaxBytes - 1: true, MaxBytes: true, MaxBytes + 1: false} {
		whole := sized(n)
		require.Len(t, whole, n)
		err := Check(at, whole, session)
		if fine {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "1 to 8,388,608 bytes")
		}
	}
	lines := func(n int) []byte {
		all := good()
		for len(all) < n {
			all = append(all[:atTokens:atTokens], append([]entry{{"world_state", `{}`}}, all[atTokens:]...)...)
			if more := n - len(all); more > 0 { // many at once
				extra := make([]entry, more)
				for i := range extra {
					extra[i] = entry{"world_state", `{}`}
				}
				all = append(all[:atTokens:atTokens], append(extra, all[atTokens:]...)...)
			}
		}
		return []byte(written(all))
	}
	for n, fine := range map[int]bool{MaxLines - 1: true, MaxLines: true, MaxLines + 1: false} {
		err := Check(at, lines(n), session)
		if fine {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "16,384 lines")
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(written(good()))
	f.Add(written(good()[:1]))
	f.Add(swap(written(good()), "0.154.0", "0.155.0"))
	f.Add("{}\n")
	f.Fuzz(func(t *testing.T, text string) {
		if Check(at, []byte(text), session) != nil {
			return
		}
		// Whatever is kept names this session and version, and ends with a turn.
		lines := strings.Split(text, "\n")
		require.Empty(t, lines[len(lines)-1])
		require.Contains(t, lines[0], "session_meta")
		require.Contains(t, lines[0], "0.154.0")
		require.LessOrEqual(t, len(lines)-1, MaxLines)
		require.NotContains(t, text, "function_call\"")
		for n := 1; n <= 3; n++ { // and no shorter piece of it does
			require.Error(t, Check(at, []byte(text[:len(text)-n]), session))
		}
	})
}
