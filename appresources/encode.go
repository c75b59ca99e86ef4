package appresources

import (
	"strconv"
	"unicode/utf8"
)

// The daemon's compact JSON (wire-v2 1): no white space, members in the given
// order, escapes for quote, backslash, U+0000–U+001F, U+007F, U+2028 and
// U+2029 only. Charges and manifest sizes count these very bytes.

const hexDigits = "0123456789abcdef"

func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			if c == 0xe2 && i+2 < len(s) && s[i+1] == 0x80 && s[i+2]&^1 == 0xa8 {
				dst = append(dst, s[start:i]...)
				dst = append(dst, `\u202`...)
				dst = append(dst, hexDigits[s[i+2]&0xf])
				i += 3
				start = i
				continue
			}
			i++
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
			i++
			continue
		}
		dst = append(dst, s[start:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\b':
			dst = append(dst, '\\', 'b')
		case '\f':
			dst = append(dst, '\\', 'f')
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
		}
		i++
		start = i
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

func appendMember(dst []byte, key, value string) []byte {
	dst = append(dst, key...)
	return appendString(dst, value)
}

func appendAttribution(dst []byte, a *Attribution) []byte {
	dst = appendMember(dst, `{"instance_id":`, string(a.InstanceID))
	dst = appendMember(dst, `,"connection_id":`, string(a.ConnectionID))
	dst = appendMember(dst, `,"operation_id":`, string(a.OperationID))
	dst = append(dst, `,"grant_generation":`...)
	dst = strconv.AppendInt(dst, a.GrantGeneration, 10)
	return append(dst, '}')
}

func appendDescriptor(dst []byte, d *Descriptor) []byte {
	dst = appendMember(dst, `{"resource_id":`, string(d.ResourceID))
	dst = appendMember(dst, `,"revision_id":`, string(d.RevisionID))
	dst = appendMember(dst, `,"kind":`, string(d.Kind))
	dst = appendMember(dst, `,"name":`, d.Name)
	dst = appendMember(dst, `,"description":`, d.Description)
	dst = appendMember(dst, `,"content_sha256":`, d.ContentSHA256)
	dst = appendMember(dst, `,"revision_sha256":`, d.RevisionSHA256)
	dst = append(dst, `,"captured_bytes":`...)
	dst = strconv.AppendInt(dst, int64(d.CapturedBytes), 10)
	dst = append(dst, `,"registered_by":`...)
	dst = appendAttribution(dst, &d.RegisteredBy)
	return append(dst, '}')
}

func appendToolManifest(dst []byte, t *Tool) []byte {
	dst = appendMember(dst, `{"resource_id":`, string(t.ResourceID))
	dst = appendMember(dst, `,"revision_id":`, string(t.RevisionID))
	dst = appendMember(dst, `,"revision_sha256":`, t.RevisionSHA256)
	dst = appendMember(dst, `,"name":`, t.Name)
	dst = append(dst, `,"timeout_ms":`...)
	dst = strconv.AppendInt(dst, t.Contract.Timeout.Milliseconds(), 10)
	return append(dst, '}')
}
