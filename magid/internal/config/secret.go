package config

import (
	"fmt"
	"log/slog"
)

const redacted = "[redacted]"

// Secret holds a key and prints as [redacted] however it is printed. The zero Secret is empty.
type Secret struct{ value string }

// NewSecret wraps a value.
func NewSecret(value string) Secret { return Secret{value} }

// Reveal returns the value, for the one place that sends it.
func (s Secret) Reveal() string { return s.value }

// Empty reports whether there is no value.
func (s Secret) Empty() bool { return s.value == "" }

// String returns [redacted].
func (Secret) String() string { return redacted }

// GoString returns [redacted].
func (Secret) GoString() string { return redacted }

// Format prints [redacted] for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// MarshalJSON returns "[redacted]" in quotes.
func (Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// MarshalText returns [redacted].
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue returns [redacted].
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
