package capture

// Rule is what a path or file breaks. It prints as a person reads it.
type Rule string

// The rules.
const (
	RulePath        Rule = "the path must be relative, with neither empty nor dot components"
	RulePathLength  Rule = "the path must have at most 1024 bytes"
	RulePathText    Rule = "the path must be UTF-8 without NUL"
	RuleCredential  Rule = "the path looks like credentials"
	RuleExcluded    Rule = "the path leads into the daemon's own state"
	RuleLink        Rule = "no component of the path may be a symbolic link"
	RuleFolder      Rule = "every component of the path but the last must be a folder"
	RuleMissing     Rule = "there is no such file"
	RuleRegular     Rule = "the source must be a regular file"
	RuleHardLink    Rule = "the file must have exactly one hard link"
	RuleSize        Rule = "the file is larger than its source limit"
	RuleText        Rule = "the file must be UTF-8 without NUL"
	RuleChanged     Rule = "the file changed while it was read"
	RuleUnreadable  Rule = "the file or a folder on its way cannot be read"
	RuleWorkspace   Rule = "the workspace folder cannot be opened"
	RuleUnavailable Rule = "the system has no room to open the file now"
)

// Error is a refusal of one rule.
type Error struct {
	Rule  Rule
	cause error // optional; an errno, never one with a path
}

// Error returns the rule.
func (e *Error) Error() string { return string(e.Rule) }

// Unwrap returns the system's error, nil where the rule alone decided.
func (e *Error) Unwrap() error { return e.cause }

func refuse(rule Rule) error { return &Error{Rule: rule} }
