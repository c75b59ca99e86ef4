package project

import (
	"errors"
	"fmt"
	"strings"

	"github.com/magi-jig/magi-jig/acpframing/json0"
	"github.com/magi-jig/magi-jig/jig/internal/contract"
	"github.com/magi-jig/magi-jig/jig/internal/engine/author"
	"github.com/magi-jig/magi-jig/jig/internal/engine/declare"
	"github.com/magi-jig/magi-jig/jig/internal/flowpkg"
)

// Codes of diagnostics about a project (finite-acp 7d).
const (
	CodeDeclarationInvalid = "PROJECT_DECLARATION_INVALID"
	CodeEvaluationLimit    = "PROJECT_EVALUATION_LIMIT"
	CodeHTTPUnavailable    = "PROJECT_HTTP_UNAVAILABLE"
	CodeACPUnavailable     = "PROJECT_ACP_UNAVAILABLE"
	CodeFeatureUnavailable = "FEATURE_UNAVAILABLE"
)

// Diagnostic is one thing that a person should know or mend.
type Diagnostic struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Path    string `json:"path,omitzero"`   // inside the project; empty: none
	Line    int    `json:"line,omitzero"`   // from 1; 0: none
	Column  int    `json:"column,omitzero"` // from 1, in Unicode scalars; 0: none
	Hint    string `json:"hint,omitzero"`   // what to do about it; empty: none
}

// Refusal is a project that cannot be taken as it is.
type Refusal struct{ Diagnostics []Diagnostic }

func (r *Refusal) Error() string {
	if len(r.Diagnostics) == 0 {
		return "the project was refused"
	}
	d := r.Diagnostics[0]
	if d.Path == "" {
		return d.Message
	}
	return d.Path + ": " + d.Message
}

// maxDiagnostics bounds what one review reports.
const maxDiagnostics = 64

// problems collects diagnostics and becomes a Refusal.
type problems struct{ list []Diagnostic }

func (p *problems) add(d Diagnostic) {
	if len(p.list) < maxDiagnostics {
		p.list = append(p.list, d)
	}
}

func (p *problems) declaration(path, format string, args ...any) {
	p.add(Diagnostic{Code: CodeDeclarationInvalid, Path: path, Message: fmt.Sprintf(format, args...)})
}

// err adds what an error of another package says about the file at path, whose
// bytes are raw where it is JSON.
func (p *problems) err(path string, raw []byte, err error) {
	var refusal *Refusal
	var refused *declare.RefusedError
	var declared *author.Error
	var packaged *flowpkg.Error
	switch {
	case errors.As(err, &refusal):
		for _, d := range refusal.Diagnostics {
			p.add(d)
		}
	case errors.As(err, &refused):
		for _, r := range refused.Refusals {
			p.add(Diagnostic{Code: CodeDeclarationInvalid, Message: r.Message, Path: r.Path, Line: r.Line, Column: r.Column, Hint: r.Hint})
		}
	case errors.As(err, &declared):
		d := Diagnostic{Code: CodeDeclarationInvalid, Message: declared.Error(), Path: path}
		if errors.Is(err, author.ErrFeature) {
			d.Code = CodeFeatureUnavailable
		}
		d.Line, d.Column = contract.Position(raw, declared.Pointer)
		var syntax *json0.Error
		if errors.As(err, &syntax) && declared.Pointer == "" {
			d.Message = syntax.Unwrap().Error() + ": " + syntax.Detail
			if raw != nil && syntax.Offset >= 0 {
				d.Line, d.Column = syntax.Position(raw)
			}
		}
		p.add(d)
	case errors.As(err, &packaged):
		d := Diagnostic{Code: CodeDeclarationInvalid, Message: packaged.Reason, Path: path, Line: packaged.Line, Column: packaged.Column}
		if packaged.Path != "" && packaged.Path != "." {
			d.Path = path + "/" + strings.TrimPrefix(packaged.Path, "./")
		}
		p.add(d)
	default:
		p.add(Diagnostic{Code: CodeDeclarationInvalid, Message: err.Error(), Path: path})
	}
}

// exported adds what is wrong with the default export of a declaration that should
// be what define gives, and is not.
func (p *problems) exported(path, define string, err error) {
	var e *author.Error
	if !errors.As(err, &e) || errors.Is(err, author.ErrFeature) {
		p.err(path, nil, err)
		return
	}
	p.add(Diagnostic{
		Code: CodeDeclarationInvalid, Path: path, Message: "its default export is not what " + define + " gives: " + e.Error(),
		Hint: "write export default " + define + "({ … })",
	})
}

func (p *problems) refusal() error {
	if len(p.list) == 0 {
		return nil
	}
	return &Refusal{p.list}
}
