// Command magid is a daemon for one user's machine: applications connect to its Unix socket, open
// sessions, register tools and skills, and start turns; it runs the model's turn and keeps what was said.
package main

import (
	"os"

	"github.com/magi-jig/magi-jig/magid/internal/cli"
)

func main() { os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
