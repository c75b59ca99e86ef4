package chat

import (
	"testing"
	"testing/synctest"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/scripted"
)

var end = steps(scripted.Finish("stop"))

// sent gives the body of the one request that r makes.
func sent(t *testing.T, r provider.Request) string {
	t.Helper()
	var body string
	synctest.Test(t, func(t *testing.T) {
		c, s := pipe(t, end)
		require.NoError(t, run(t.Context(), c, r).err)
		body = string(s.Requests()[0].Body)
	})
	return body
}

// rule: W-300
func TestTheRequestBody(t *testing.T) {
	schema := jsontext.Value(`{"type":"object","properties":{"path":{"type":"string"}}}`)
	r := provider.Request{
		System: "be brief",
		Messages: []provider.Message{
			{Role: provider.RoleUser, Text: "read \"a\"\n"},
			{Role: provider.RoleAssistant, Text: "Let me look.", Calls: []provider.Call{{ID: "call_1", Name: "read_file", Arguments: `{"path":"a"}`}}},
			{Role: provider.RoleTool, CallID: "call_1", Text: `{"content":"hi"}`},
			{Role: provider.RoleAssistant, Calls: []provider.Call{{ID: "call_2", Name: "read_file", Arguments: `{}`}, {ID: "call_3", Name: "read_file", Arguments: `{}`}}},
			{Role: provider.RoleTool, CallID: "call_2", Text: `no "path"`, IsError: true},
			{Role: provider.RoleTool, CallID: "call_3", Text: "", IsError: false},
			{Role: provider.RoleAssistant, Text: ""},
			{Role: provider.RoleUser, Text: "北京"},
		},
		Tools:           []provider.Tool{{Name: "read_file", Description: "reads a file", InputSchema: schema}, {Name: "now"}},
		MaxOutputTokens: 7,
	}
	require.Equal(t, `{"model":"scripted","messages":[`+
		`{"role":"system","content":"be brief"},`+
		`{"role":"user","content":"read \"a\"\n"},`+
		`{"role":"assistant","content":"Let me look.","tool_calls":[{"id":"call_1","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}]},`+
		`{"role":"tool","content":"{\"content\":\"hi\"}","tool_call_id":"call_1"},`+
		`{"role":"assistant","content":null,"tool_calls":[{"id":"call_2","type":"function","function":{"name":"read_file","arguments":"{}"}},{"id":"call_3","type":"function","function":{"name":"read_file","arguments":"{}"}}]},`+
		`{"role":"tool","content":"{\"error\":\"no \\\"path\\\"\"}","tool_call_id":"call_2"},`+
		`{"role":"tool","content":"","tool_call_id":"call_3"},`+
		`{"role":"assistant","content":""},`+
		`{"role":"user","content":"北京"}],`+
		`"tools":[{"type":"function","function":{"name":"read_file","description":"reads a file","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}},{"type":"function","function":{"name":"now"}}],`+
		`"max_tokens":7,"stream":true,"stream_options":{"include_usage":true}}`, sent(t, r))
	require.Equal(t, `{"model":"scripted","messages":[{"role":"user","content":"x"}],"stream":true,"stream_options":{"include_usage":true}}`,
		sent(t, provider.Request{Messages: []provider.Message{{Role: provider.RoleUser, Text: "x"}}}))
}

func TestARequestThatCannotBeWrittenAsksNothing(t *testing.T) {
	for name, r := range map[string]provider.Request{
		"text that is no UTF-8":      {Messages: []provider.Message{{Role: provider.RoleUser, Text: "canary\xff"}}},
		"an error that is no UTF-8":  {Messages: []provider.Message{{Role: provider.RoleTool, Text: "canary\xff", IsError: true}}},
		"arguments that are no text": {Messages: []provider.Message{{Role: provider.RoleAssistant, Calls: []provider.Call{{Arguments: "canary\xff"}}}}},
		"a schema that is no JSON":   {Tools: []provider.Tool{{Name: "a", InputSchema: jsontext.Value(`{"canary"`)}}},
		"no role":                    {Messages: []provider.Message{{Text: "canary"}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := pipe(t, end)
				o := run(t.Context(), c, r)
				require.ErrorContains(t, o.err, "chat: ")
				require.NotContains(t, o.err.Error(), "canary")
				require.Empty(t, s.Requests())
			})
		})
	}
}

// rule: M-042
func TestThePathIsAppended(t *testing.T) {
	s, err := scripted.StartReplies(end, end, end)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	for n, suffix := range []string{"", "/", "//"} {
		c, err := New(provider.Options{BaseURL: s.URL() + suffix, Model: "m"})
		require.NoError(t, err)
		require.NoError(t, run(t.Context(), c, ask).err)
		require.Equal(t, "/v1/chat/completions", s.Requests()[n].Path)
	}
}

// A local server over TCP, with base URL and model alone.
//
// rule: M-045
func TestALocalServerNeedsNoKey(t *testing.T) {
	s, err := scripted.StartReplies(scripted.TextReply("hello"))
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	c, err := New(provider.Options{BaseURL: s.URL(), Model: "m"})
	require.NoError(t, err)
	o := run(t.Context(), c, ask)
	require.NoError(t, o.err)
	require.Equal(t, "hello", o.text)
	require.NotContains(t, s.Requests()[0].Header, "Authorization")
}

func TestTheKeyIsABearerToken(t *testing.T) {
	key, err := provider.NewSecret("canary")
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) {
		c, s := pipeWith(t, provider.Options{Key: key}, end)
		require.NoError(t, run(t.Context(), c, ask).err)
		require.Equal(t, []string{"Bearer canary"}, s.Requests()[0].Header["Authorization"])
	})
}

func TestNewChecksItsOptions(t *testing.T) {
	for says, o := range map[string]provider.Options{
		"model":     {BaseURL: "http://127.0.0.1/v1"},
		"base_url":  {Model: "m"},
		"negative":  {Model: "m", BaseURL: "http://127.0.0.1/v1", Limits: provider.Limits{CallBytes: -1}},
		"negative ": {Model: "m", BaseURL: "http://127.0.0.1/v1", Timeouts: provider.Timeouts{Idle: -1}},
	} {
		_, err := New(o)
		require.ErrorContains(t, err, says[:5])
	}
}

// A server that does not know stream_options is asked without it, at once and
// from then on.
func TestServersThatRefuseUsage(t *testing.T) {
	for name, refusal := range map[string]scripted.Reply{
		"400":               scripted.ErrorReply(400, "Unrecognized request argument supplied: stream_options"),
		"422, by its place": {Status: 422, Steps: []scripted.Step{scripted.Write(`{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`)}},
		"by its member":     scripted.ErrorReply(400, "include_usage is not supported"),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, s := pipe(t, refusal, end, end)
				require.NoError(t, run(t.Context(), c, ask).err)
				require.NoError(t, run(t.Context(), c, ask).err)
				r := s.Requests()
				require.Len(t, r, 3)
				require.Contains(t, string(r[0].Body), "stream_options")
				require.NotContains(t, string(r[1].Body), "stream_options")
				require.NotContains(t, string(r[2].Body), "stream_options")
				require.Equal(t, r[0].At, r[1].At, "at once")
			})
		})
	}
	t.Run("a server that still refuses", func(t *testing.T) {
		refusal := scripted.ErrorReply(400, "stream_options!")
		synctest.Test(t, func(t *testing.T) {
			c, s := pipe(t, refusal, refusal, refusal)
			o := run(t.Context(), c, ask)
			require.EqualError(t, o.err, "provider_error: the provider refused with status 400: stream_options!")
			require.Len(t, s.Requests(), 2)
			require.ErrorContains(t, run(t.Context(), c, ask).err, "stream_options!")
			require.Len(t, s.Requests(), 3)
		})
	})
	t.Run("another refusal", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			c, s := pipe(t, scripted.ErrorReply(400, "no such model"), scripted.ErrorReply(403, "stream_options"), end)
			require.ErrorContains(t, run(t.Context(), c, ask).err, "no such model")
			require.ErrorContains(t, run(t.Context(), c, ask).err, "status 403")
			require.NoError(t, run(t.Context(), c, ask).err)
			require.Contains(t, string(s.Requests()[2].Body), "stream_options")
		})
	})
}

func TestServersThatWantMaxCompletionTokens(t *testing.T) {
	bounded := ask
	bounded.MaxOutputTokens = 7
	refusal := scripted.ErrorReply(400, "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	synctest.Test(t, func(t *testing.T) {
		c, s := pipe(t, refusal, end, end)
		require.NoError(t, run(t.Context(), c, bounded).err)
		require.NoError(t, run(t.Context(), c, bounded).err)
		r := s.Requests()
		require.Len(t, r, 3)
		require.Contains(t, string(r[0].Body), `"max_tokens":7`)
		for _, later := range r[1:] {
			require.Contains(t, string(later.Body), `"max_completion_tokens":7`)
			require.NotContains(t, string(later.Body), `"max_tokens"`)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c, s := pipe(t, refusal, end)
		require.Error(t, run(t.Context(), c, ask).err, "no limit was asked for, so nothing can be mended")
		require.Len(t, s.Requests(), 1)
	})
	both := scripted.ErrorReply(400, "neither stream_options nor max_tokens (but max_completion_tokens)")
	synctest.Test(t, func(t *testing.T) {
		c, s := pipe(t, both, end)
		require.NoError(t, run(t.Context(), c, bounded).err)
		require.Len(t, s.Requests(), 2)
	})
}

// A retried request keeps its body; a retry is not a second reply.
//
// rule: M-114
func TestARetriedReplyIsWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := pipe(t, scripted.ErrorReply(503, "busy"), scripted.ErrorReply(429, "busy"), scripted.TextReply("a", "b"))
		o := run(t.Context(), c, ask)
		require.NoError(t, o.err)
		require.Equal(t, "ab", o.text)
		require.Len(t, s.Requests(), 3)
		require.Equal(t, s.Requests()[0].Body, s.Requests()[2].Body)
	})
}

func TestRepliesSideBySide(t *testing.T) {
	const n = 16
	s, err := scripted.Start(scripted.Options{Respond: func(r scripted.Request) (scripted.Reply, bool) {
		return scripted.TextReply("a", "b", "c"), true
	}})
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()) }()
	c, err := New(provider.Options{BaseURL: s.URL(), Model: "m"})
	require.NoError(t, err)
	outcomes := make(chan outcome)
	for range n {
		go func() { outcomes <- run(t.Context(), c, ask) }()
	}
	for range n {
		o := <-outcomes
		require.NoError(t, o.err)
		require.Equal(t, "abc", o.text)
	}
}
