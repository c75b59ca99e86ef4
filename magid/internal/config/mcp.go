package config

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// mcp takes in a table or value below [mcp.NAME]. Values are judged here, so that a file that is accepted now stays so
// when the servers come; the place of each table is kept for Supported.
func (w *walker) mcp(path []string, at origin) error {
	if len(path) == 1 {
		if _, ok := w.values["mcp"].(map[string]any); !ok {
			return at.fault(`"mcp" is a table, not a value`)
		}
		return nil
	}
	if !mcpName(path[1]) {
		return at.fault("the name of an MCP server: accepted are 1 to 32 of a-z, 0-9 and _, beginning with a letter")
	}
	name := path[1]
	if _, ok := w.look(path[:2]).(map[string]any); !ok {
		return at.fault(shown(path[:2]) + " is a table, not a value")
	}
	if _, ok := w.l.config.origins["mcp."+name]; !ok {
		w.l.config.origins["mcp."+name] = at
		w.l.config.MCP[name] = MCPServer{}
	}
	if len(path) == 2 {
		return nil
	}
	server := w.l.config.MCP[name]
	err := server.set(path[2:], w.look(path))
	w.l.config.MCP[name] = server
	if err != nil {
		return at.fault(err.Error())
	}
	return nil
}

// set takes in one value of a server's table. What it says never shows the value, which may be a secret.
func (s *MCPServer) set(path []string, v any) error {
	text, isText := v.(string)
	isText = isText && text != "" && len(text) <= maxPathBytes && !strings.ContainsRune(text, 0)
	switch {
	case slices.Equal(path, []string{"command"}):
		if s.Command = text; !isText {
			return errors.New("command: accepted is a path or name")
		}
	case slices.Equal(path, []string{"url"}):
		u, err := url.Parse(text)
		if s.URL = text; !isText || err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil {
			return errors.New("url: accepted is an absolute URL of http or https without a user name")
		}
	case slices.Equal(path, []string{"args"}):
		list, ok := v.([]any)
		ok = ok && len(list) <= maxNames
		s.Args = []string{}
		for _, e := range list {
			arg, isArg := e.(string)
			ok = ok && isArg && len(arg) <= maxPathBytes && !strings.ContainsRune(arg, 0)
			s.Args = append(s.Args, arg)
		}
		if !ok {
			return fmt.Errorf("args: accepted is a list of at most %d strings", maxNames)
		}
	case path[0] == "env" && len(path) == 1:
		if _, ok := v.(map[string]any); !ok {
			return errors.New("env: accepted is a table of strings")
		}
	case path[0] == "env" && len(path) == 2:
		value, ok := v.(string)
		if !ok || path[1] == "" || strings.ContainsAny(path[1], "=\x00") || strings.ContainsRune(value, 0) || len(value) > maxPathBytes {
			return errors.New("env: accepted is a table of strings")
		}
		if s.Env == nil {
			s.Env = map[string]Secret{}
		}
		s.Env[path[1]] = NewSecret(value)
	default:
		return fmt.Errorf("unknown key %s; accepted in [mcp.NAME] are command, args, env, url", shown(path))
	}
	return nil
}

func mcpName(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'a' || c > 'z') && (i == 0 || (c < '0' || c > '9') && c != '_') {
			return false
		}
	}
	return len(s) >= 1 && len(s) <= 32
}

// checkMCP checks each server as a whole.
func (l *loader) checkMCP() error {
	for _, name := range slices.Sorted(maps.Keys(l.config.MCP)) {
		s, at := l.config.MCP[name], l.config.origins["mcp."+name]
		switch {
		case (s.Command == "") == (s.URL == ""):
			return at.fault("an MCP server has a command or a url, and not both")
		case s.URL != "" && (s.Args != nil || s.Env != nil):
			return at.fault("args and env belong to a command, not to a url")
		}
	}
	return nil
}
