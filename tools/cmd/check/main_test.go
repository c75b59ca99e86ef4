package main

import (
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"check": main})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			// The go command needs its caches; the scripts need nothing else.
			for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPATH", "HOME"} {
				env.Setenv(name, os.Getenv(name))
			}
			return nil
		},
	})
}
