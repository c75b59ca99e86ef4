// Package config reads the daemon's configuration: a strict TOML file and a few environment variables that win over it.
package config
