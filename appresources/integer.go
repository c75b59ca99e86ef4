package appresources

// parseInteger reads a JSON number that is written as a safe integer: digits
// with an optional minus, no fraction, no exponent, not -0, at most 2^53-1
// either way (magid: Shapes). A float parser would take 839e89 for a number
// far beyond every bound and 2^53+1 for its neighbour, so none is used.
func parseInteger(raw []byte) (int64, bool) {
	digits := raw
	negative := len(raw) > 0 && raw[0] == '-'
	if negative {
		digits = raw[1:]
	}
	if len(digits) == 0 || len(digits) > 16 { // 2^53-1 has 16
		return 0, false
	}
	if digits[0] == '0' && (len(digits) > 1 || negative) {
		return 0, false
	}
	var n int64
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if n > MaxSafeInteger {
		return 0, false
	}
	if negative {
		n = -n
	}
	return n, true
}

// writtenAsInteger tells a number that is too large from one of another form.
func writtenAsInteger(raw []byte) bool {
	for i, c := range raw {
		if !('0' <= c && c <= '9' || c == '-' && i == 0 && len(raw) > 1) {
			return false
		}
	}
	return string(raw) != "-0"
}
