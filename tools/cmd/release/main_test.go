package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"release": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			// The go command needs its caches; nothing is fetched.
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "HOME"} {
				env.Setenv(name, os.Getenv(name))
			}
			env.Setenv("GOPROXY", "off")
			return nil
		},
	})
}
