// Package chat speaks OpenAI Chat Completions, streaming, with tools.
package chat

import (
	"context"
	"errors"

	"github.com/magi-jig/magi-jig/magid/internal/provider"
)

// Client is a [provider.Provider] over Chat Completions.
//
// A Client is safe for concurrent use.
type Client struct{}

var _ provider.Provider = (*Client)(nil)

// New checks the options and makes a Client. It opens no connection.
func New(o provider.Options) (*Client, error) {
	return &Client{}, nil
}

// Stream gets one reply; see [provider.Provider].
func (c *Client) Stream(ctx context.Context, r provider.Request, text func(string) error) (provider.Reply, error) {
	return provider.Reply{}, errors.New("chat: no stream yet")
}
