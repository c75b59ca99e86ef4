package config

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Limits of values.
const (
	maxReplies       = 64
	maxOutputTokens  = 10_000_000
	maxHistoryBytes  = 64 << 20
	maxTextBytes     = 256
	maxPathBytes     = 4096
	maxNames         = 256
	minTimeout       = time.Millisecond
	maxTimeout       = 24 * time.Hour
	minIdleTimeout   = time.Second
	maxIdleTimeout   = 365 * 24 * time.Hour
	maxShownKeyBytes = 64
)

// key takes in one value of the file, or says what it accepts.
type key struct {
	name string
	set  func(l *loader, value any) error
}

// keys are all keys of the file but those of [mcp.NAME], in the order of the documentation.
var keys = []key{
	{keyKind, func(l *loader, v any) error {
		s, _ := v.(string)
		switch k := Kind(s); k {
		case KindOpenAIChat, KindOpenAIResponses, KindAnthropic:
			l.config.Provider.Kind = k
			return nil
		}
		return fmt.Errorf("accepted are %q, %q and %q", KindOpenAIChat, KindOpenAIResponses, KindAnthropic)
	}},
	{keyBaseURL, func(l *loader, v any) error { return baseURL(&l.config.Provider.BaseURL, v) }},
	{"provider.model", func(l *loader, v any) error { return line(&l.config.Provider.Model, v) }},
	{keyAPIKeyFile, func(l *loader, v any) error { return l.path(&l.keyFile, v) }},
	{"provider.max_output_tokens", func(l *loader, v any) error { return number(&l.config.Provider.MaxOutputTokens, v, maxOutputTokens) }},
	{"provider.max_replies", func(l *loader, v any) error { return number(&l.config.Provider.MaxReplies, v, maxReplies) }},
	{"provider.max_history_bytes", func(l *loader, v any) error { return number(&l.config.Provider.MaxHistoryBytes, v, maxHistoryBytes) }},
	{"provider.allow_plain_http", func(l *loader, v any) error {
		b, ok := v.(bool)
		if !ok {
			return errors.New("accepted are true and false")
		}
		l.config.Provider.AllowPlainHTTP = b
		return nil
	}},
	{"provider.timeouts.connect", func(l *loader, v any) error { return timeout(&l.config.Provider.Timeouts.Connect, v) }},
	{"provider.timeouts.headers", func(l *loader, v any) error { return timeout(&l.config.Provider.Timeouts.Headers, v) }},
	{"provider.timeouts.first_event", func(l *loader, v any) error { return timeout(&l.config.Provider.Timeouts.FirstEvent, v) }},
	{"provider.timeouts.idle", func(l *loader, v any) error { return timeout(&l.config.Provider.Timeouts.Idle, v) }},
	{"provider.timeouts.total", func(l *loader, v any) error { return timeout(&l.config.Provider.Timeouts.Total, v) }},
	{"tools.disabled", func(l *loader, v any) error { return names(&l.config.Tools.Disabled, v) }},
	{"skills.dirs", func(l *loader, v any) error { return l.folders(&l.config.Skills.Dirs, v) }},
	{"skills.disabled", func(l *loader, v any) error { return names(&l.config.Skills.Disabled, v) }},
	{"daemon.idle_timeout", func(l *loader, v any) error {
		return duration(&l.config.Daemon.IdleTimeout, v, minIdleTimeout, maxIdleTimeout, true)
	}},
	{"daemon.socket", func(l *loader, v any) error { return absolute(&l.config.Daemon.Socket, v) }},
}

// set takes in the value of a key and remembers where it came from.
func (l *loader) set(name string, value any, at origin) error {
	i := slices.IndexFunc(keys, func(k key) bool { return k.name == name })
	short := name[strings.LastIndexByte(name, '.')+1:]
	if err := keys[i].set(l, value); err != nil {
		return at.fault(short + ": " + err.Error())
	}
	l.config.origins[name] = at
	return nil
}

func number(dst *int, v any, most int64) error {
	n, ok := v.(int64)
	if !ok || n < 1 || n > most {
		return fmt.Errorf("accepted are whole numbers from 1 to %d", most)
	}
	*dst = int(n)
	return nil
}

func timeout(dst *time.Duration, v any) error { return duration(dst, v, minTimeout, maxTimeout, false) }

func duration(dst *time.Duration, v any, least, most time.Duration, zero bool) error {
	s, _ := v.(string)
	d, err := time.ParseDuration(s)
	if err != nil || (d < least || d > most) && !(zero && d == 0) {
		text := fmt.Sprintf("accepted are durations from %s to %s, written like \"90s\" or \"2m\"", short(least), short(most))
		if zero {
			text += `, and "0s" for never`
		}
		return errors.New(text)
	}
	*dst = d
	return nil
}

// short writes a duration without its zero minutes and seconds.
func short(d time.Duration) string {
	s := strings.TrimSuffix(strings.TrimSuffix(d.String(), "0s"), "0m")
	if s == "" || d < time.Minute {
		return d.String()
	}
	return s
}

// line takes one line of text.
func line(dst *string, v any) error {
	s, ok := v.(string)
	if !ok || s == "" || len(s) > maxTextBytes || strings.ContainsFunc(s, control) {
		return fmt.Errorf("accepted is one line of 1 to %d bytes", maxTextBytes)
	}
	*dst = s
	return nil
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

// names takes a list of names.
func names(dst *[]string, v any) error {
	list, ok := v.([]any)
	out := make([]string, len(list))
	ok = ok && len(list) <= maxNames
	for i, e := range list {
		ok = ok && line(&out[i], e) == nil
	}
	if !ok {
		return fmt.Errorf("accepted is a list of at most %d names", maxNames)
	}
	*dst = out
	return nil
}

func baseURL(dst *string, v any) error {
	s, _ := v.(string)
	u, err := url.Parse(s)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", len(s) > maxPathBytes:
		return errors.New("accepted is an absolute URL of http or https")
	case u.User != nil:
		// Not shown: what stands there may be a key.
		return errors.New("a user name or password has no place in it: the key belongs in api_key_file")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.HasSuffix(s, "#"):
		return errors.New("accepted is a URL without query and fragment: the path of the format is added to it")
	}
	*dst = strings.TrimRight(s, "/")
	return nil
}

// absolute takes an absolute path of a file.
func absolute(dst *string, v any) error {
	s, _ := v.(string)
	if !filepath.IsAbs(s) || len(s) > maxPathBytes || strings.ContainsRune(s, 0) {
		return errors.New("accepted is an absolute path")
	}
	*dst = s
	return nil
}

// path takes a path that may be absolute, below ~/, or in the folder of the configuration file.
func (l *loader) path(dst *string, v any) error {
	s, _ := v.(string)
	if below, ok := strings.CutPrefix(s, "~/"); ok && filepath.IsAbs(l.home) {
		s = filepath.Join(l.home, below)
	} else if s != "" && !filepath.IsAbs(s) && l.config.File != "" && !strings.HasPrefix(s, "~") {
		s = filepath.Join(filepath.Dir(l.config.File), s)
	}
	if absolute(dst, s) != nil {
		return errors.New("accepted is a path: absolute, below ~/, or beside the configuration file")
	}
	return nil
}

func (l *loader) folders(dst *[]string, v any) error {
	list, ok := v.([]any)
	out := make([]string, len(list))
	ok = ok && len(list) <= maxNames
	for i, e := range list {
		s, _ := e.(string)
		ok = ok && (filepath.IsAbs(s) || strings.HasPrefix(s, "~/")) && l.path(&out[i], e) == nil
	}
	if !ok {
		return fmt.Errorf("accepted is a list of at most %d folders, absolute or below ~/", maxNames)
	}
	*dst = out
	return nil
}
