package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	maxFileBytes    = 256 << 10
	maxKeyFileBytes = 8 << 10
)

// The keys of the file that something besides their setter speaks of.
const (
	keyKind       = "provider.kind"
	keyBaseURL    = "provider.base_url"
	keyAPIKeyFile = "provider.api_key_file"
)

// variables are the environment variables that replace a key of the file.
var variables = []struct{ name, key string }{
	{"MAGI_PROVIDER", keyKind},
	{"MAGI_BASE_URL", keyBaseURL},
	{"MAGI_MODEL", "provider.model"},
	{"MAGI_API_KEY_FILE", keyAPIKeyFile},
	{"MAGI_SOCKET", "daemon.socket"},
}

// Load reads the configuration. A missing file is an empty configuration; a bad one is an *Error.
func Load(env Env) (Config, error) {
	key, err := takeKey(env)
	if err != nil {
		return Config{}, err
	}
	l := loader{env: env, home: env.Get("HOME"), config: defaults()}
	if err := l.file(); err != nil {
		return Config{}, err
	}
	for _, v := range variables {
		if value := env.Get(v.name); value != "" {
			if err := l.set(v.key, value, origin{source: v.name}); err != nil {
				return Config{}, err
			}
		}
	}
	if err := l.finish(key); err != nil {
		return Config{}, err
	}
	return l.config, nil
}

func defaults() Config {
	return Config{
		Provider: Provider{
			MaxReplies: DefaultMaxReplies, MaxHistoryBytes: DefaultMaxHistoryBytes,
			Timeouts: Timeouts{DefaultConnect, DefaultHeaders, DefaultFirstEvent, DefaultIdle, DefaultTotal},
		},
		MCP:     map[string]MCPServer{},
		Daemon:  Daemon{IdleTimeout: DefaultIdleTimeout},
		origins: map[string]origin{},
	}
}

// takeKey reads MAGI_API_KEY and takes it out of the environment, before anything can fail and leave it there.
func takeKey(env Env) (Secret, error) {
	const name = "MAGI_API_KEY"
	value := env.Get(name)
	if value == "" {
		return Secret{}, nil
	}
	if env.Unset != nil {
		if err := env.Unset(name); err != nil {
			return Secret{}, &Error{Source: name, Text: "it cannot be taken out of the environment"}
		}
	}
	key, text := parseKey([]byte(value))
	if text != "" {
		return Secret{}, &Error{Source: name, Text: text}
	}
	return key, nil
}

type loader struct {
	env     Env
	home    string
	keyFile string // absolute
	config  Config
}

func (l *loader) warn(format string, args ...any) {
	l.config.Warnings = append(l.config.Warnings, fmt.Sprintf(format, args...))
}

// file finds, reads and takes in the file.
func (l *loader) file() error {
	path, named := l.env.Get("MAGI_CONFIG"), true
	if path == "" {
		named = false
		if dir := l.env.Get("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
			path = filepath.Join(dir, "magi", "config.toml")
		} else if filepath.IsAbs(l.home) {
			path = filepath.Join(l.home, ".config", "magi", "config.toml")
		} else {
			return nil
		}
	}
	if !filepath.IsAbs(path) {
		return &Error{Source: "MAGI_CONFIG", Text: "the path of the configuration file is not absolute"}
	}
	l.config.File = filepath.Clean(path)
	data, _, err := readFile(l.config.File, maxFileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		if named {
			l.warn("MAGI_CONFIG: there is no such file; the configuration is empty")
		}
		return nil
	}
	if err != nil {
		return &Error{Source: l.config.File, Text: err.Error()}
	}
	return l.parse(data)
}

// finish checks what takes more than one key, and reads the key file.
func (l *loader) finish(key Secret) error {
	p := &l.config.Provider
	if p.Kind == "" && p.BaseURL != "" {
		p.Kind = KindOpenAIChat
	}
	if u, err := url.Parse(p.BaseURL); err == nil && u.Scheme == "http" && !p.AllowPlainHTTP && !Loopback(u.Hostname()) {
		return l.config.origins[keyBaseURL].fault("plain http is for loopback only: use https, or set allow_plain_http = true under [provider]")
	}
	if len(l.config.Skills.Dirs) > 0 {
		l.warn("[skills] dirs is set, and this version looks for no skills")
	}
	if !key.Empty() {
		if l.keyFile != "" {
			l.warn("MAGI_API_KEY is used, and not the key file")
		}
		p.APIKey = key
		return nil
	}
	if l.keyFile == "" {
		return nil
	}
	at := l.config.origins[keyAPIKeyFile]
	data, mode, err := readFile(l.keyFile, maxKeyFileBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return at.fault("the key file does not exist")
	}
	if err != nil {
		return at.fault("the key file: " + err.Error())
	}
	if mode&0o077 != 0 {
		l.warn("the key file is open to other users (mode %04o): run chmod 600 on it", mode)
	}
	var text string
	if p.APIKey, text = parseKey(data); text != "" {
		return at.fault("the key file: " + text)
	}
	return nil
}

// readFile reads a regular file of at most limit bytes. Its errors hold no content, and no path.
func readFile(path string, limit int64) ([]byte, fs.FileMode, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, withoutPath(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, 0, withoutPath(err)
	}
	if !info.Mode().IsRegular() {
		return nil, 0, errors.New("it is no regular file")
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, 0, withoutPath(err)
	}
	if int64(len(data)) > limit {
		return nil, 0, fmt.Errorf("it is longer than %d bytes", limit)
	}
	return data, info.Mode().Perm(), nil
}

func withoutPath(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// parseKey trims a key and says what makes it unusable, without showing it.
func parseKey(raw []byte) (Secret, string) {
	key := strings.TrimSpace(string(raw))
	if len(key) > maxKeyFileBytes {
		return Secret{}, "the key is longer than 8192 bytes"
	}
	for _, c := range []byte(key) {
		if c <= ' ' || c > '~' {
			return Secret{}, "the key is not one word of printable ASCII"
		}
	}
	return NewSecret(key), ""
}

// Loopback reports whether a host of a URL is this machine by its name alone: localhost, 127.0.0.0/8 or ::1.
func Loopback(host string) bool {
	if strings.EqualFold(strings.TrimSuffix(host, "."), "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// Supported refuses what is accepted in the file and has no implementation in this version: the daemon calls it before
// it serves.
func (c Config) Supported() error {
	if k := c.Provider.Kind; k == KindOpenAIResponses || k == KindAnthropic {
		return c.origins[keyKind].fault("provider kind " + string(k) + " is not in this version yet; " + string(KindOpenAIChat) + " is")
	}
	for _, name := range slices.Sorted(maps.Keys(c.MCP)) {
		return c.origins["mcp."+name].fault("MCP servers are not in this version yet: take the table out")
	}
	return nil
}
