package worker

import (
	"context"
	"errors"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/wirev2"
)

// separator stands between the text of a reply and what an earlier reply said
// before its calls (wire-v2 4: Events).
const separator = "\n\n"

// reply gets one reply of the model: its text is accepted as it comes, its calls
// only after the stream ended well.
func (r *run) reply(ctx context.Context) ([]provider.Call, *wirev2.TurnError) {
	r.replies++
	r.replyText = nil
	got, err := r.provider.Stream(ctx, provider.Request{
		System:          r.system,
		Messages:        r.messages,
		Tools:           r.tools,
		MaxOutputTokens: r.limits.MaxOutputTokens,
	}, func(text string) error { return r.accept(ctx, text) })
	r.spend(got.Usage)
	if err == nil {
		return got.Calls, nil
	}
	var refused *provider.Error
	switch {
	case errors.Is(err, errOverflow):
		return nil, failure(wirev2.TurnLimitExceeded,
			"the assistant's text passes the turn's %d encoded bytes (max_text_bytes, less the manifest)", r.job.TextBudget)
	case errors.As(err, &refused):
		return nil, providerFailure(refused)
	}
	return nil, failure(wirev2.TurnProviderError, "the provider's reply failed")
}

// accept takes one piece of text, or refuses it whole.
func (r *run) accept(ctx context.Context, text string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if text == "" {
		return nil
	}
	piece := text
	if len(r.replyText) == 0 && r.used > 0 {
		piece = separator + text
	}
	bytes := wirev2.EncodedStringLen(piece)
	if bytes > r.job.TextBudget-r.used {
		return errOverflow
	}
	r.used += bytes
	r.replyText = append(r.replyText, text...)
	r.job.Listener.Text(piece)
	return nil
}

// providerFailure is a provider's error as a terminal's.
func providerFailure(e *provider.Error) *wirev2.TurnError {
	code := wirev2.TurnProviderError
	switch e.Code {
	case provider.CodeUnavailable:
		code = wirev2.TurnProviderUnavailable
	case provider.CodeLimitExceeded:
		code = wirev2.TurnLimitExceeded
	case provider.CodeFailed:
	}
	return &wirev2.TurnError{Code: code, Message: e.Message}
}
