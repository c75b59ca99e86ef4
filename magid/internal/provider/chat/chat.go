// Package chat speaks OpenAI Chat Completions, streaming, with tools. Against a
// compatible server, a local one too, base URL and model are all it needs.
//
// # What is sent
//
// The history as messages; a failed tool call as {"error":TEXT}, because the
// format has no mark for it. stream_options.include_usage asks for usage. A server
// that refuses the request with 400 or 422 and names that member is asked again at
// once without it, and from then on; its replies have no usage unless it sends one
// unasked. max_output_tokens goes out as max_tokens, which old servers know, and in
// the same way as max_completion_tokens once a server has asked for that.
//
// # When a reply counts
//
// It needs a finish_reason and then [DONE] or an end in order of the body, at the
// end of an event ([DONE] itself may lack its last line ends). Then (magid:
// Provider rules):
//
//   - stop ends the reply. If it comes with calls, they count if each has a name
//     and arguments that are whole JSON, for old local servers say stop then.
//   - tool_calls and function_call need at least one call; each needs a name. What
//     its arguments are worth is for the worker to judge.
//   - length is limit_exceeded; the text stands.
//   - any other reason is provider_error, and so are text or calls after the
//     reason, two different reasons, a refusal in place of text, and more than one
//     choice.
//
// Every event must be an object with choices, usage or error, in strict JSON. An
// event that is not fails the reply: it is never skipped, for what it held would be
// missing. Members that are not used here may be there.
//
// # Calls
//
// Fragments are joined by index and id. At an index in use a new id is a new call.
// A fragment without an id continues the last call at its index, unless it brings
// another name, or the same name and further arguments after the call's were whole:
// then it is a new call too. An id that comes late is the call's, and one that
// never comes is left empty. A fragment without an index belongs to the call with
// its id, else to the last one. The order of calls is that of their indices, then
// of their coming. The old single function_call is one call.
//
// Characters split between deltas, in bytes of UTF-8 or in surrogate escapes, are
// joined before they are checked, in text and in arguments.
//
// # Limits
//
// [MaxCalls] calls a reply, an index at most [MaxCalls]-1, an id and a name at most
// [MaxIDBytes] and [MaxNameBytes]; all of a reply's calls together at most
// CallBytes of [provider.Limits].
//
// # Errors
//
// See package provider. A request that cannot be written, because the caller gave
// text that is no UTF-8 or a schema that is no JSON, is a plain error.
//
// # Concurrency
//
// A [Client] is safe for concurrent use.
package chat

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/internal/provider/attempt"
)

// Client is a [provider.Provider] over Chat Completions.
//
// A Client is safe for concurrent use.
type Client struct {
	model     string
	key       provider.Secret
	callBytes int
	client    *attempt.Client

	withoutUsage     atomic.Bool // the server refuses stream_options
	completionTokens atomic.Bool // the server wants max_completion_tokens
}

var _ provider.Provider = (*Client)(nil)

// New checks the options and makes a Client. It opens no connection.
func New(o provider.Options) (*Client, error) {
	if o.Model == "" {
		return nil, errors.New("provider: model is not set")
	}
	limits, err := o.Limits.WithDefaults()
	if err != nil {
		return nil, err
	}
	client, err := attempt.New(o, "/chat/completions", func(h http.Header, key string) {
		h.Set("Authorization", "Bearer "+key)
	})
	if err != nil {
		return nil, err
	}
	return &Client{model: o.Model, key: o.Key, callBytes: limits.CallBytes, client: client}, nil
}

// Stream gets one reply; see [provider.Provider].
func (c *Client) Stream(ctx context.Context, r provider.Request, text func(string) error) (provider.Reply, error) {
	for {
		body, err := c.body(r)
		if err != nil {
			return provider.Reply{}, err
		}
		s := &stream{key: c.key, callBytes: c.callBytes, text: text}
		err = c.client.Post(ctx, body, s)
		if err == nil {
			return provider.Reply{Calls: s.result(), Usage: s.usage}, nil
		}
		// Each is learned once, so this repeats at most twice.
		again := s.refusesUsage && !c.withoutUsage.Swap(true)
		if s.wantsCompletionTokens && r.MaxOutputTokens > 0 && !c.completionTokens.Swap(true) {
			again = true
		}
		if !again {
			return provider.Reply{Usage: s.usage}, err
		}
	}
}
