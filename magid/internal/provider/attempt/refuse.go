package attempt

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
)

const (
	refusalBytes = 64 << 10
	refusalTime  = 5 * time.Second
)

// refused judges a reply whose status is not 200.
func (a *attempt) refused(res *http.Response) *failure {
	a.phases.enter(phaseRefusal, refusalTime)
	// Whatever ends the reading, what came is what there is to show.
	body, _ := io.ReadAll(io.LimitReader(res.Body, refusalBytes))
	a.phases.leave()
	if a.parent.Err() != nil {
		return &failure{err: stopped(a.parent)}
	}
	var said Refusal
	if res.Header.Get("Content-Encoding") == "" {
		said = ReadRefusal(body)
	}
	status := res.StatusCode
	text := fmt.Sprintf("the provider refused with status %d", status)
	busy := status == http.StatusTooManyRequests || status >= 500
	after := retryAfter(res.Header, time.Now())
	f := &failure{}
	switch {
	case status < 300 || status == http.StatusNotModified:
		text = fmt.Sprintf("the provider answered with status %d where a reply has 200", status)
	case status < 400:
		text = fmt.Sprintf("the provider answered with status %d: redirects are not followed, base_url must be the address itself", status)
	case busy && after > maxRetryAfter:
		text += fmt.Sprintf(" and asks to wait %s, longer than %s", after, maxRetryAfter)
	case busy:
		f.again, f.after = !said.QuotaUsedUp(), after
	}
	if words := provider.Quote(said.Message, a.key); words != "" {
		text += ": " + words
	}
	if busy {
		f.err = unavailable(text, nil)
	} else {
		f.err = failed(text, nil)
	}
	if !f.again {
		a.sink.Refused(status, body)
	}
	return f
}

// Refusal is what a provider says of an error, in the forms in use.
type Refusal struct {
	Message string
	Type    string
	Code    string
}

// QuotaUsedUp reports a limit that no wait of a minute lifts.
func (r Refusal) QuotaUsedUp() bool {
	for _, word := range []string{r.Type, r.Code} {
		switch word {
		case "insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance", "usage_limit_reached":
			return true
		}
	}
	return false
}

// ReadRefusal reads a refusal's body: {"error":{"message":…,"type":…,"code":…}},
// {"error":"…"}, {"message":…} or {"detail":"…"}, else a text that is no HTML
// page. What follows the object is not looked at, nor is a body that was cut.
func ReadRefusal(body []byte) Refusal {
	d := jsontext.NewDecoder(strings.NewReader(string(body)), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	var outer struct {
		Error   jsontext.Value `json:"error"`
		Message jsontext.Value `json:"message"`
		Detail  jsontext.Value `json:"detail"`
		Type    jsontext.Value `json:"type"`
		Code    jsontext.Value `json:"code"`
	}
	if err := json.UnmarshalDecode(d, &outer); err != nil {
		text := strings.TrimSpace(string(body))
		if errors.Is(err, io.EOF) || strings.HasPrefix(text, "<") || strings.Contains(text, "\x00") {
			return Refusal{}
		}
		return Refusal{Message: text}
	}
	r := Refusal{Message: text(outer.Message), Type: text(outer.Type), Code: text(outer.Code)}
	if r.Message == "" {
		r.Message = text(outer.Detail)
	}
	if m := text(outer.Error); m != "" {
		r.Message = m
	}
	if outer.Error.Kind() != '{' {
		return r
	}
	var inner struct {
		Message jsontext.Value `json:"message"`
		Type    jsontext.Value `json:"type"`
		Code    jsontext.Value `json:"code"`
	}
	if json.Unmarshal(outer.Error, &inner, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) == nil {
		r = Refusal{Message: text(inner.Message), Type: text(inner.Type), Code: text(inner.Code)}
	}
	return r
}

// text gives a JSON string's text, "" for anything else.
func text(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	s, err := jsontext.AppendUnquote(nil, v)
	if err != nil {
		return strings.ToValidUTF8(string(s), "\uFFFD")
	}
	return string(s)
}
