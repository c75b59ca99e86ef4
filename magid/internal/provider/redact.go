package provider

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxQuoteBytes bounds what is shown of a provider's own words (wire-v2 4: Turns).
const MaxQuoteBytes = 256

// Quote makes a provider's own words fit to be shown: one line of valid UTF-8, at
// most MaxQuoteBytes, with the key and whatever looks like a key replaced by
// [redacted]. It is replaced before the text is cut, so that no part of a key is
// left at the cut.
func Quote(s string, key Secret) string {
	return cut(redact(oneLine(s), key), MaxQuoteBytes)
}

// oneLine turns every run of white space and of characters that do not show (line
// ends, controls, marks that turn the direction of text) into one space.
func oneLine(s string) string {
	fields := strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
	})
	return strings.Join(fields, " ")
}

var (
	// What stands behind a name that announces a secret.
	announced = regexp.MustCompile(`(?i)\b((?:api|access|secret|private|auth)[-_ ]?(?:key|token)|x-api-key|authorization|password|passwd|secret|token)(["']?\s*[:=]\s*["']?)((?:bearer|basic)\s+)?([^\s"',;&]+)`)
	scheme    = regexp.MustCompile(`(?i)\b(bearer|basic)\s+([A-Za-z0-9._~+/=*-]{6,})`)
	// What begins as the keys of known services do.
	prefixed = regexp.MustCompile(`\b(?:(?:sk|pk|rk|csk|gsk|hf|fw|r8|tgp|xai|pplx|nvapi|glpat|gh[oprsu]|github_pat)[-_]|AKIA|ASIA|AIza|ya29\.|eyJ)[A-Za-z0-9_.*+/=-]{6,}`)
	// A run of key characters; it is a key if one of its words is long and mixes
	// letters and digits. Model names have short words and dates, so they stay.
	run  = regexp.MustCompile(`[A-Za-z0-9_+/=*.-]{20,}`)
	word = regexp.MustCompile(`[A-Za-z0-9]{20,}`)
)

// redact replaces keys. It may replace too much, as a request id that looks like
// a key; it is meant to.
func redact(s string, key Secret) string {
	if !key.IsZero() {
		s = strings.ReplaceAll(s, key.Reveal(), redacted)
	}
	s = announced.ReplaceAllStringFunc(s, func(m string) string {
		g := announced.FindStringSubmatch(m)
		if len(g[4]) < 6 || strings.Trim(g[4], "0123456789.") == "" || strings.Contains(g[4], redacted) {
			return m
		}
		return g[1] + g[2] + g[3] + redacted
	})
	s = scheme.ReplaceAllString(s, "$1 "+redacted)
	s = prefixed.ReplaceAllString(s, redacted)
	return run.ReplaceAllStringFunc(s, func(m string) string {
		for _, w := range word.FindAllString(m, -1) {
			if strings.ContainsAny(w, "0123456789") && strings.Trim(w, "0123456789") != "" {
				return redacted
			}
		}
		return m
	})
}

// cut shortens s to at most n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
