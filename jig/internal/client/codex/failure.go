package codex

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/jig/internal/client/adapter"
	"github.com/magi-jig/magi-jig/jig/internal/client/launch"
)

// failure is an error of the app-server: of a request, or of a turn. Its text goes
// nowhere but into a category.
type failure struct {
	Message string         `json:"message"`
	Info    jsontext.Value `json:"codexErrorInfo"`
}

// session is the failure of the request that begins a thread.
func (x *failure) session(method string) adapter.Failure {
	f := adapter.Failure{Category: x.category()}
	if method == "thread/start" && strings.HasPrefix(x.Message, configFailure) {
		f.Data = x.Message + configSuffix
	}
	return f
}

// words are the kinds of failure that Codex names.
var words = map[string]launch.Category{
	"unauthorized": launch.Auth, "usageLimitExceeded": launch.Rate, "rateLimitExceeded": launch.Rate, "sessionBudgetExceeded": launch.Rate,
	"serverOverloaded": launch.Service, "internalServerError": launch.Service, "badRequest": launch.Model, "contextWindowExceeded": launch.Model,
	"httpConnectionFailed": launch.Network, "responseStreamConnectionFailed": launch.Network, "responseStreamDisconnected": launch.Network,
	"responseTooManyFailedAttempts": launch.Network,
}

func (x *failure) category() launch.Category {
	var word string
	if json.Unmarshal(x.Info, &word) == nil {
		if c := words[word]; c != "" {
			return c
		}
		return ofMessage(x.Message)
	}
	var object map[string]struct {
		Status *int `json:"httpStatusCode"`
	}
	if json.Unmarshal(x.Info, &object) != nil {
		return ofMessage(x.Message)
	}
	for word, detail := range object {
		if detail.Status != nil {
			if c := ofStatus(*detail.Status); c != "" {
				return c
			}
		}
		return words[word]
	}
	return ""
}

// ofMessage finds out what Codex calls "other": most statuses, and an answer that
// broke off, by itself, at the model's limit or for a reason of the provider's.
func ofMessage(message string) launch.Category {
	if rest, ok := strings.CutPrefix(message, "stream disconnected before completion: "); ok {
		why, incomplete := strings.CutPrefix(rest, "Incomplete response returned, reason: ")
		switch {
		case !incomplete:
			return launch.Network
		case why == "max_output_tokens":
			return launch.Model
		}
		return "" // a filter, or what a provider may think of yet
	}
	_, rest, ok := strings.Cut(message, "unexpected status ")
	if !ok || len(rest) < 3 {
		return ""
	}
	n := 0
	for _, d := range []byte(rest[:3]) {
		if d < '0' || d > '9' {
			return ""
		}
		n = 10*n + int(d-'0')
	}
	return ofStatus(n)
}

func ofStatus(n int) launch.Category {
	switch {
	case n == 401 || n == 403:
		return launch.Auth
	case n == 429:
		return launch.Rate
	case n == 400 || n == 404:
		return launch.Model
	case n >= 500:
		return launch.Service
	}
	return ""
}
