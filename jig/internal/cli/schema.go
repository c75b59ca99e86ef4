package cli

import (
	"context"
	"embed"
	"io/fs"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

//go:embed schema/*.json
var schemas embed.FS

// schemaNames are the records that have a published schema.
func schemaNames() []string {
	entries, err := fs.ReadDir(schemas, "schema")
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, strings.TrimSuffix(e.Name(), ".json"))
	}
	return names
}

func (a *app) schemaCommand(end func(ending)) *cobra.Command {
	c := a.command("schema NAME", "Print the JSON Schema of a command's record", exactly(1, "the name of a record ("+strings.Join(schemaNames(), ", ")+")"), func(_ context.Context, args []string) ending {
		raw, err := schemas.ReadFile("schema/" + args[0] + ".json")
		if err != nil || strings.ContainsAny(args[0], "/\\") {
			r := refuse(codeUsage, "there is no such record")
			r.hint = "records: " + strings.Join(schemaNames(), ", ")
			return a.refused(r)
		}
		rec := record{}
		names, values := topLevel(raw)
		for i, name := range names {
			rec[name] = values[i]
		}
		v := jsontext.Value(raw)
		return ending{record: rec, human: string(v)}
	}, end)
	c.ValidArgs = schemaNames()
	c.ValidArgsFunction = nil
	return c
}
