package chat

import (
	"bytes"
	"fmt"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/internal/provider/attempt"
	"github.com/magi-jig/magi-jig/magid/internal/provider/sse"
)

// stream is one reply while it comes.
type stream struct {
	key       provider.Secret
	callBytes int
	text      func(string) error

	content joined
	refusal string
	calls   calls
	finish  string // the reason, "" before it has come
	usage   *provider.Usage

	refusesUsage          bool
	wantsCompletionTokens bool
}

var _ attempt.Sink = (*stream)(nil)

// result is the reply's calls, once it ended well.
func (s *stream) result() []provider.Call { return s.calls.result }

// Event takes one event.
func (s *stream) Event(e sse.Event) (bool, error) {
	data := bytes.TrimSpace(e.Data)
	if string(data) == "[DONE]" {
		return true, s.end()
	}
	if e.Name == "error" {
		return false, s.reported(data)
	}
	c, err := decode(data)
	if err != nil {
		return false, failed("the provider sent an event that is not valid", err)
	}
	if k := c.Error.Kind(); k != 0 && k != 'n' {
		return false, s.reported(data)
	}
	if c.Choices == nil && c.Usage == nil {
		return false, failed("the provider sent an event that is no part of a reply", nil)
	}
	if c.Choices != nil {
		for i := range *c.Choices {
			if err := s.choice(&(*c.Choices)[i]); err != nil {
				return false, err
			}
		}
	}
	return false, s.count(c.Usage)
}

// End takes the end of the body.
func (s *stream) End(unfinished *sse.Event) error {
	if unfinished != nil && string(bytes.TrimSpace(unfinished.Data)) != "[DONE]" {
		return failed("the provider's stream ended in the middle of an event", nil)
	}
	return s.end()
}

// Refused learns what the server does not take.
func (s *stream) Refused(status int, body []byte) {
	if status != 400 && status != 422 {
		return
	}
	s.refusesUsage = bytes.Contains(body, []byte("stream_options")) || bytes.Contains(body, []byte("include_usage"))
	s.wantsCompletionTokens = bytes.Contains(body, []byte("max_completion_tokens"))
}

// reported is the failure that the provider itself tells of in its stream.
func (s *stream) reported(data []byte) error {
	said := attempt.ReadRefusal(data)
	message := "the provider reported an error"
	for _, words := range []string{said.Message, said.Code, said.Type} {
		if words = provider.Quote(words, s.key); words != "" {
			return failed(message+": "+words, nil)
		}
	}
	return failed(message, nil)
}

func (s *stream) choice(c *choice) error {
	if c.Index != 0 {
		return failed("the provider sent more than the one choice it was asked for", nil)
	}
	d := &c.Delta
	if s.finish != "" && (len(d.Content.raw) > len(`""`) || d.Refusal != "" || len(d.ToolCalls) > 0 || d.FunctionCall != nil) {
		return failed("the provider sent more of a reply after its end", nil)
	}
	if d.Content.raw != nil {
		if err := s.say(d.Content); err != nil {
			return err
		}
	}
	if len(s.refusal) < provider.MaxMessageBytes {
		s.refusal += d.Refusal
	}
	for i := range d.ToolCalls {
		if err := s.calls.add(&d.ToolCalls[i], s.callBytes); err != nil {
			return err
		}
	}
	if d.FunctionCall != nil {
		if err := s.calls.addOld(d.FunctionCall, s.callBytes); err != nil {
			return err
		}
	}
	if c.FinishReason == "" {
		return nil
	}
	if s.finish != "" && s.finish != c.FinishReason {
		return failed("the provider gave two reasons for the end of one reply", nil)
	}
	s.finish = c.FinishReason
	return nil
}

// say hands on the characters that are whole.
func (s *stream) say(t rawText) error {
	if err := s.content.add(t.raw); err != nil {
		return failed("the provider sent text that is not UTF-8", err)
	}
	whole, err := s.content.take()
	switch {
	case err != nil:
		return failed("the provider sent text that is not UTF-8", err)
	case whole == "":
		return nil
	}
	if err := s.text(whole); err != nil {
		return fmt.Errorf("provider: the text was not taken: %w", err)
	}
	return nil
}

// count takes a usage; the last one that comes is the whole reply's.
func (s *stream) count(u *usage) error {
	if u == nil {
		return nil
	}
	if u.PromptTokens < 0 || u.CompletionTokens < 0 {
		return failed("the provider sent a usage below zero", nil)
	}
	s.usage = &provider.Usage{InputTokens: u.PromptTokens, OutputTokens: u.CompletionTokens}
	return nil
}

// end judges the reply at the end of its stream.
func (s *stream) end() error {
	if s.finish == "" {
		return failed("the provider's stream ended before the model had finished", nil)
	}
	if !s.content.empty() {
		return failed("the provider's text ended in the middle of a character", errNotUTF8)
	}
	if s.refusal != "" {
		return failed("the model refused: "+provider.Quote(s.refusal, s.key), nil)
	}
	switch s.finish {
	case "stop":
		return s.calls.settle(true)
	case "tool_calls", "function_call":
		if len(s.calls.list) == 0 {
			return failed("the model finished with calls and made none", nil)
		}
		return s.calls.settle(false)
	case "length":
		return provider.NewError(provider.CodeLimitExceeded, "the model stopped at its output limit", nil)
	default:
		return failed("the model stopped for the reason "+provider.Quote(s.finish, s.key), nil)
	}
}

func failed(message string, cause error) error {
	return provider.NewError(provider.CodeFailed, message, cause)
}
