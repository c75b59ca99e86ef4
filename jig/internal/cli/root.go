package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// execute understands args and runs a command.
func (a *app) execute(ctx context.Context, args []string) int {
	exit := 0
	ran := false
	root := a.root(func(e ending) {
		ran = true
		exit = a.end(e)
	})
	completions(root, args)
	root.SetArgs(args)
	root.SetOut(textWriter{a.out})
	root.SetErr(a.stderr)
	if c, err := root.ExecuteContextC(ctx); err != nil {
		r := refuse(codeUsage, err.Error())
		r.hint = "see jig help"
		var own *refusal
		if errors.As(err, &own) {
			r = own
		}
		switch c.Name() {
		case "review":
			return a.end(a.reviewRefused(r))
		case "run":
			return a.end(a.receiving(runOptions{receive: wantsItems(args)}, a.refused(r)))
		}
		return a.end(a.refused(r))
	}
	if !ran && a.out.failed() {
		return 2
	}
	return exit
}

// wantsItems finds the options --receive before the options are understood: a wrong
// one is reported in the form that was asked for.
func wantsItems(args []string) []string {
	var names []string
	for _, arg := range args {
		switch {
		case arg == "--":
			return names
		case arg == "--receive", strings.HasPrefix(arg, "--receive="):
			names = append(names, arg)
		}
	}
	return names
}

type textWriter struct{ o *output }

func (w textWriter) Write(b []byte) (int, error) {
	w.o.text(string(b))
	if w.o.failed() {
		return 0, errNoTerminal
	}
	return len(b), nil
}

// root is the tree of commands. Each of them gives its ending to end.
func (a *app) root(end func(ending)) *cobra.Command {
	root := &cobra.Command{
		Use:   "jig",
		Short: "Review a project's Flows, and run them in a sandbox",
		Long: `jig runs methods ("Flows") that you have reviewed, in a sandbox without a network
and without your files, and lends them what their review granted.

  jig init      writes a first project
  jig review    shows what the project wants, and approves it
  jig run       runs a target`,
		SilenceErrors: true, SilenceUsage: true,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			r := refuse(codeUsage, "there is no command "+strconv.QuoteToASCII(args[0]))
			if near := c.SuggestionsFor(args[0]); len(near) > 0 {
				r.hint = "jig " + strings.Join(near, ", jig ")
			} else {
				r.hint = "jig help lists the commands"
			}
			return r
		},
		SuggestionsMinimumDistance: 2,
		RunE: func(c *cobra.Command, _ []string) error {
			c.SetOut(a.stderr)
			c.Help()
			return refuse(codeUsage, "a command is needed")
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = false
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return refuse(codeUsage, optionError(err)) })
	colors := []string{"auto", "always", "never"}
	root.PersistentFlags().Var(&onceWord{into: &a.color, words: colors}, "color", "auto, always or never")
	_ = root.RegisterFlagCompletionFunc("color", cobra.FixedCompletions(colors, cobra.ShellCompDirectiveNoFileComp))
	root.PersistentPreRun = func(*cobra.Command, []string) {
		option := a.color
		if option == "auto" {
			option = ""
		}
		a.errStyle, a.outStyle = newStyle(a.stderr, option, a.env), newStyle(a.out.w, option, a.env)
	}
	for _, make := range []func(func(ending)) *cobra.Command{
		a.initCommand, a.reviewCommand, a.runCommand, a.inspectionCommand, a.statusCommand, a.runsCommand, a.sessionsCommand, a.doctorCommand, a.versionCommand, a.schemaCommand,
	} {
		root.AddCommand(make(end))
	}
	return root
}

// optionError is what the option parser said, in one line.
func optionError(err error) string {
	text := err.Error()
	if i := strings.Index(text, "\n"); i >= 0 {
		text = text[:i]
	}
	return strings.ReplaceAll(text, "flag", "option")
}

// command makes a command with the options that all have.
func (a *app) command(use, short string, args cobra.PositionalArgs, run func(ctx context.Context, args []string) ending, end func(ending)) *cobra.Command {
	c := &cobra.Command{
		Use: use, Short: short, Args: args,
		RunE: func(c *cobra.Command, args []string) error {
			end(run(c.Context(), args))
			return nil
		},
		ValidArgsFunction:     cobra.NoFileCompletions,
		DisableFlagsInUseLine: false,
	}
	c.Flags().SortFlags = false
	ignored := false
	flag(c.Flags(), &ignored, "json", "print one line of JSON, whatever happens")
	return c
}

func noArguments(_ *cobra.Command, args []string) error { return atMost(0)(nil, args) }

// atMost refuses more than n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return refuse(codeUsage, fmt.Sprintf("unexpected argument %s", strconv.QuoteToASCII(args[n])))
		}
		return nil
	}
}

// exactly refuses anything but n arguments.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < n {
			return refuse(codeUsage, what+" is needed")
		}
		return atMost(n)(c, args)
	}
}

// flag is an option without a value that may be given once.
func flag(f *pflag.FlagSet, into *bool, name, usage string) {
	f.Var(&onceBool{into: into}, name, usage)
	f.Lookup(name).NoOptDefVal = "true"
}

// word is an option with a value that may be given once.
func word(f *pflag.FlagSet, into *string, name, usage string) {
	f.Var(&onceWord{into: into}, name, usage)
}

type onceBool struct {
	into *bool
	set  bool
}

func (o *onceBool) String() string { return "" }
func (o *onceBool) Type() string   { return "" }
func (o *onceBool) Set(s string) error {
	if o.set {
		return errTwice
	}
	o.set = true
	if s != "true" && s != "false" {
		return errors.New("it takes no value")
	}
	*o.into = s == "true"
	return nil
}

type onceWord struct {
	into  *string
	words []string // what it may be; nil: anything
	some  bool     // it may not be empty
	set   bool
}

func (o *onceWord) String() string { return "" }
func (o *onceWord) Type() string   { return "value" }
func (o *onceWord) Set(s string) error {
	if o.set {
		return errTwice
	}
	o.set = true
	if o.some && s == "" {
		return errors.New("it is empty")
	}
	*o.into = s
	if o.words == nil {
		return nil
	}
	if slices.Contains(o.words, s) {
		return nil
	}
	return fmt.Errorf("it is one of %s", strings.Join(o.words, ", "))
}

var errTwice = errors.New("it is given twice")

// words is an option that may be given several times, each time with another
// value.
type words struct {
	into *[]string
	most int
}

func (o *words) String() string { return "" }
func (o *words) Type() string   { return "name" }
func (o *words) Set(s string) error {
	if s == "" {
		return errors.New("it is empty")
	}
	if slices.Contains(*o.into, s) {
		return fmt.Errorf("%s is given twice", strconv.QuoteToASCII(s))
	}
	if len(*o.into) == o.most {
		return fmt.Errorf("it is given more than %d times", o.most)
	}
	*o.into = append(*o.into, s)
	return nil
}

var _ io.Writer = textWriter{}
