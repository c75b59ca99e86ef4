package client

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Credential is what a client authenticates with, cut down to one conversation.
// However it is printed, it prints as [redacted]. It is not safe for concurrent
// use.
//
// Its JSON is one of
//
//	codex   {"type":"apiKey","apiKey":K}
//	        {"type":"chatgptAuthTokens","accessToken":T,"chatgptAccountId":A,"chatgptPlanType":P}  the last only if known
//	claude  {"variable":"CLAUDE_CODE_OAUTH_TOKEN"|"ANTHROPIC_API_KEY"|"ANTHROPIC_AUTH_TOKEN","value":V}
//	pi      {PROVIDER:{"type":"api_key","key":K}}
//	        {PROVIDER:{"type":"oauth","access":T,"refresh":"","expires":MS}}
//
// where Codex's is the parameters of account/login/start and Pi's the content of
// auth.json.
type Credential struct {
	payload jsontext.Value
	values  []string
	expires time.Time
}

// JSON is the credential member of the launch frame. The bytes are the
// Credential's own.
func (c *Credential) JSON() jsontext.Value { return c.payload }

// Values are the secrets in it, as they could turn up elsewhere: every text that
// the operator's login holds as a token or beside one and that goes over. None is
// empty.
func (c *Credential) Values() []string { return c.values }

// Expires is when it ends; zero where that cannot be known.
func (c *Credential) Expires() time.Time { return c.expires }

// Zero overwrites the bytes of JSON.
func (c *Credential) Zero() { clear(c.payload) }

const redacted = "[redacted]"

// String hides the secret.
func (*Credential) String() string { return redacted }

// GoString hides the secret.
func (*Credential) GoString() string { return redacted }

// Format hides the secret, whatever the verb.
func (*Credential) Format(s fmt.State, _ rune) { fmt.Fprint(s, redacted) }

// MarshalJSON hides the secret.
func (*Credential) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }

// LogValue hides the secret.
func (*Credential) LogValue() slog.Value { return slog.StringValue(redacted) }
