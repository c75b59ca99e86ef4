package claude

import (
	"strings"

	"github.com/tidwall/gjson"

	"github.com/magi-jig/magi-jig/jig/internal/client/adapter"
	"github.com/magi-jig/magi-jig/jig/internal/client/jsonline"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

// result settles the turn. One without a turn settles nothing.
func (c *Client) result(v gjson.Result) {
	t := c.turn
	if t == nil {
		return
	}
	c.turn = nil
	stop, failure := t.end(v)
	if stop == "" {
		c.host.Fail(failure)
		return
	}
	c.host.Done(adapter.Result{StopReason: stop})
}

// end says why a turn ended, or how it failed. is_error decides; the subtype is
// "success" for a request that the provider refused.
func (t *turn) end(v gjson.Result) (adapter.Stop, adapter.Failure) {
	if v.Get("is_error").Type == gjson.False {
		return t.ended(v)
	}
	status := int(v.Get("api_error_status").Int())
	switch terminal := jsonline.Text(v.Get("terminal_reason")); {
	case t.cancelled && strings.HasPrefix(terminal, "aborted"):
		return adapter.Cancelled, adapter.Failure{}
	case terminal == "max_turns":
		return adapter.MaxTurnRequests, adapter.Failure{}
	case status != 0:
		return "", adapter.Failure{Category: category(status)}
	case t.reason == "max_tokens" || t.reason == "model_context_window_exceeded":
		return adapter.MaxTokens, adapter.Failure{}
	case t.reason == "refusal":
		return adapter.Refusal, adapter.Failure{}
	case terminal == "api_error":
		return "", adapter.Failure{Category: launch.Network}
	}
	return "", adapter.Failure{}
}

// ended is for a turn that is no error. An answer that was not streamed, and one
// that has neither text nor a token, are.
func (t *turn) ended(v gjson.Result) (adapter.Stop, adapter.Failure) {
	if !t.text && (jsonline.Text(v.Get("result")) != "" || !t.cancelled && v.Get("usage.output_tokens").Int() == 0) {
		return "", adapter.Failure{Category: launch.Service}
	}
	switch jsonline.Text(v.Get("stop_reason")) {
	case "end_turn", "stop_sequence":
		return adapter.EndTurn, adapter.Failure{}
	case "max_tokens", "model_context_window_exceeded":
		return adapter.MaxTokens, adapter.Failure{}
	case "refusal":
		return adapter.Refusal, adapter.Failure{}
	case "tool_use":
		return adapter.MaxTurnRequests, adapter.Failure{}
	case "":
		if t.cancelled {
			return adapter.Cancelled, adapter.Failure{}
		}
	}
	return "", adapter.Failure{}
}

// category sorts a provider's status.
func category(status int) launch.Category {
	switch {
	case status == 401 || status == 403:
		return launch.Auth
	case status == 404:
		return launch.Model
	case status == 429:
		return launch.Rate
	}
	return launch.Service
}
