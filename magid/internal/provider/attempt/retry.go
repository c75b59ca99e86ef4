package attempt

import (
	"net/http"
	"strings"
	"time"
)

// MaxRetries is how often a request is tried again: three requests in all.
const MaxRetries = 2

const (
	backoffBase   = 500 * time.Millisecond
	backoffCap    = 4 * time.Second
	maxRetryAfter = 60 * time.Second
)

// backoff is the longest wait after that try, counted from 0.
func backoff(try int) time.Duration {
	if try > 10 { // far over the cap; do not shift it out of range
		return backoffCap
	}
	return min(backoffBase<<try, backoffCap)
}

// retryAfter reads how long the provider asks to be left alone. Without the field,
// and with one that makes no sense, it is 0. now is only used if the reply has no
// Date of its own.
func retryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.Trim(h.Get("Retry-After"), " \t")
	if v == "" {
		return 0
	}
	if strings.Trim(v, "0123456789") == "" {
		v = strings.TrimLeft(v, "0")
		if len(v) > 6 { // more than eleven days, whatever it says
			v = "999999"
		}
		seconds := 0
		for _, digit := range v {
			seconds = seconds*10 + int(digit-'0')
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return max(at.Sub(now), 0)
}
