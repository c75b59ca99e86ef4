// Package config reads what a person set: a strict TOML file and a few environment variables that win over it. No wire
// request can change any of it (wire-v2 7).
//
// # The file
//
// $MAGI_CONFIG, else $XDG_CONFIG_HOME/magi/config.toml, else $HOME/.config/magi/config.toml. A missing file, named or
// default, is an empty configuration; a named one that is missing gives a warning. MAGI_CONFIG is absolute: a relative
// path would be another file, or none, for a daemon that was started elsewhere.
//
//	[provider]
//	kind = "openai-chat"              # openai-chat, openai-responses or anthropic; openai-chat where base_url is set
//	base_url = "https://host/v1"      # the prefix to which the format's path is added
//	model = "a-model"
//	api_key_file = "key"              # absolute, below ~/, or beside this file
//	max_output_tokens = 4096          # 1 to 10000000; without it the provider's own
//	max_replies = 64                  # 1 to 64
//	max_history_bytes = 400000        # 1 to 67108864
//	allow_plain_http = false          # true: plain http to hosts that are not loopback
//
//	[provider.timeouts]               # of one attempt, each 1ms to 24h
//	connect = "10s"
//	headers = "60s"
//	first_event = "120s"
//	idle = "120s"
//	total = "600s"
//
//	[tools]
//	disabled = []                     # names of tools that are not offered
//
//	[skills]
//	dirs = []                         # absolute or below ~/
//	disabled = []
//
//	[daemon]
//	idle_timeout = "30m"              # 1s to 8760h, or 0s for never
//	socket = "/run/user/1000/x.sock"  # absolute
//
//	[mcp.NAME]                        # command with args and env, or url
//
// # The environment
//
// MAGI_PROVIDER, MAGI_BASE_URL, MAGI_MODEL, MAGI_API_KEY_FILE and MAGI_SOCKET replace what the file says of the same,
// one by one; MAGI_API_KEY replaces a key file, wherever that was named. A variable that is empty counts as unset. So
// a base URL and a model are enough for a local server, and the key may be empty.
//
// MAGI_API_KEY is read once and taken out of the process's environment, so no child sees it. That does not clear what
// /proc/<pid>/environ shows of the environment that the daemon was started with: anybody who may read that (the same
// user, root) reads the key there for as long as the daemon runs. A key file, closed to others (chmod 600), is the better
// place, and a file that is not closed gives a warning.
//
// # What it refuses
//
// Unknown and differently cased keys, mistyped values and values out of range, each with file, line, column and what is
// accepted there. A base URL with a user name, a query or a fragment; plain http to a host that is not loopback, unless
// allow_plain_http says so. A key that is not printable ASCII in one piece, which no HTTP header could carry.
//
// [Config.Supported] refuses what the file may say and this version cannot do: the kinds openai-responses and anthropic,
// and MCP servers. They are accepted by [Load], and the daemon refuses to start with them: what a person set must never
// be ignored. [skills] dirs only gives a warning, because a daemon without those skills does nothing wrong.
//
// A configuration without base URL or model is not an error. The daemon serves, and [Provider.Unconfigured] says what to
// set to whoever starts a turn.
//
// # Limits
//
// The file is at most 256 KiB, a key file 8 KiB; a list has at most 256 names.
//
// # Errors
//
// Every error of Load and Supported is an *[Error]: it says where, and shows no key and no value that may hold one.
//
// # Concurrency
//
// Load reads and changes the process's environment: call it before goroutines that do the same. A [Config] is plain data.
package config
