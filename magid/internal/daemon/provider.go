package daemon

import (
	"github.com/magi-jig/magi-jig/magid/internal/config"
	"github.com/magi-jig/magi-jig/magid/internal/provider"
	"github.com/magi-jig/magi-jig/magid/internal/provider/chat"
)

// newProvider makes the configured provider, or says in one line what to set so that there is one.
func newProvider(p config.Provider) (model provider.Provider, why string, err error) {
	if why := p.Unconfigured(); why != "" {
		return nil, why, nil
	}
	key, err := provider.NewSecret(p.APIKey.Reveal())
	if err != nil {
		return nil, "", err
	}
	client, err := chat.New(provider.Options{
		BaseURL: p.BaseURL, Model: p.Model, Key: key, AllowPlainHTTP: p.AllowPlainHTTP,
		Timeouts: provider.Timeouts{
			Connect: p.Timeouts.Connect, Headers: p.Timeouts.Headers, FirstEvent: p.Timeouts.FirstEvent,
			Idle: p.Timeouts.Idle, Total: p.Timeouts.Total,
		},
	})
	if err != nil {
		return nil, "", err
	}
	return client, "", nil
}
