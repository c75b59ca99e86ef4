package pi

import (
	"strings"

	"github.com/magi-jig/magi-jig/jig/internal/client/adapter"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

// settled ends the turn. One that Pi never took up cannot have settled: what
// settled then is something else.
func (c *Client) settled() {
	t := c.turn
	if t == nil || !t.taken {
		return
	}
	c.turn = nil
	stop, failure := t.end()
	if stop == "" {
		c.host.Fail(failure)
		return
	}
	c.host.Done(adapter.Result{StopReason: stop})
}

// end says why a turn ended, or how it failed.
func (t *turn) end() (adapter.Stop, adapter.Failure) {
	var l last
	if t.last != nil {
		l = *t.last
	}
	switch {
	case l.reason == "error":
		return "", adapter.Failure{Category: l.category}
	case l.reason == "aborted", l.reason == "": // "" is an abort before the first message
		if t.cancelled {
			return adapter.Cancelled, adapter.Failure{}
		}
		if t.tool {
			return adapter.MaxTurnRequests, adapter.Failure{}
		}
	case t.tool: // whatever the model went on to say was not forwarded
		return adapter.MaxTurnRequests, adapter.Failure{}
	case l.reason == "stop" && !t.text && l.tokens == 0: // neither text nor a token
		return "", adapter.Failure{Category: launch.Service}
	case l.reason == "stop":
		return adapter.EndTurn, adapter.Failure{}
	case l.reason == "length":
		return adapter.MaxTokens, adapter.Failure{}
	}
	return "", adapter.Failure{}
}

// category sorts a failure by the system's word for it that Pi's message begins with,
// or by the status that it begins with or puts into parentheses. Nothing else of the
// message is looked at.
func category(message string) launch.Category {
	word, _, _ := strings.Cut(message, ":")
	if message == "Connection error." || len(word) > 2 && word[0] == 'E' && strings.Trim(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
		return launch.Network
	}
	for i := range len(message) - 2 {
		if (i > 0 && message[i-1] != '(') || (i+3 < len(message) && digit(message[i+3])) {
			continue
		}
		a, b, c := message[i], message[i+1], message[i+2]
		if !digit(a) || !digit(b) || !digit(c) {
			continue
		}
		switch status := int(a-'0')*100 + int(b-'0')*10 + int(c-'0'); {
		case status == 401 || status == 403:
			return launch.Auth
		case status == 404:
			return launch.Model
		case status == 429:
			return launch.Rate
		case status >= 400 && status < 600:
			return launch.Service
		}
	}
	return ""
}

func digit(b byte) bool { return b >= '0' && b <= '9' }
