package contract_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/magi-jig/magi-jig/jig/internal/contract"
)

// The preimages are written out by hand: the domain, one NUL, and the canonical
// descriptor. The two digests that the page names (92fbe418…, 5caeef97…) are
// those of the public conversation fixture, whose sentences are not this
// project's to carry; ParseChannel gives both for it. The descriptors here have
// the shapes of that fixture and words of their own.
//
// rule: R-166
func TestChannelIdentityIsADigestOfItsCanonicalDescriptor(t *testing.T) {
	for _, c := range []struct{ file, preimage string }{
		{
			`{ "version":"1.0.0", "semantics":"Asks for one reading.\n", "id":"https://example.org/measure/ask", "$schema":"` + contract.ChannelSchema + `",
			   "item":{"type":"object","required":["sample"],"additionalProperties":false,"properties":{"sample":{"type":"string","minLength":1,"maxLength":3.2e1}}} }`,
			"FLOW-Channel-Contract/0\x00" + `{"$schema":"` + contract.ChannelSchema + `","id":"https://example.org/measure/ask",` +
				`"item":{"additionalProperties":false,"properties":{"sample":{"maxLength":32,"minLength":1,"type":"string"}},"required":["sample"],"type":"object"},` +
				`"semantics":"Asks for one reading.\n","version":"1.0.0"}`,
		},
		{
			`{"$schema":"` + contract.ChannelSchema + `","id":"https://example.org/measure/answer","version":"1.0.0","semantics":"A reading in \u00b0C.",
			  "item":{"type":"object","properties":{"sample":{"type":"string"},"celsius":{"type":"number"}},"required":["sample","celsius"],"additionalProperties":false}}`,
			"FLOW-Channel-Contract/0\x00" + `{"$schema":"` + contract.ChannelSchema + `","id":"https://example.org/measure/answer",` +
				`"item":{"additionalProperties":false,"properties":{"celsius":{"type":"number"},"sample":{"type":"string"}},"required":["sample","celsius"],"type":"object"},` +
				`"semantics":"A reading in °C.","version":"1.0.0"}`,
		},
	} {
		channel, err := contract.ParseChannel([]byte(c.file))
		require.NoError(t, err)
		sum := sha256.Sum256([]byte(c.preimage))
		require.Equal(t, "sha256:"+hex.EncodeToString(sum[:]), channel.Identity.Digest)
	}
}
