package nativeinspect

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"
)

// fault is a refusal before its client and stage are known.
type fault struct {
	reason  Reason
	stage   Stage // empty: it follows from the reason
	role    Role
	subject string
	manager Manager
	through []Link
	passed  []Rejection // by a search of its own
	cause   error
}

func (f *fault) Error() string { return string(f.reason) }

func (f *fault) Unwrap() error { return f.cause }

// because makes a fault of a reason.
func because(reason Reason) *fault { return &fault{reason: reason} }

// excluded is the failure to resolve a path that leads through an excluded folder.
type excluded struct{ through string }

func (*excluded) Error() string { return string(ReasonInsideProject) }

var errTooManyLinks = errors.New("too many symbolic links")

// reasonOf names an error that came from the file system or from a reader of this
// package.
func reasonOf(err error) Reason {
	var f *fault
	var x *excluded
	switch {
	case errors.As(err, &f):
		return f.reason
	case errors.As(err, &x):
		return ReasonInsideProject
	case errors.Is(err, errTooManyLinks), errors.Is(err, unix.ELOOP):
		return ReasonTooManyLinks
	case errors.Is(err, unix.ENOENT):
		return ReasonDoesNotExist
	case errors.Is(err, unix.ENOTDIR):
		return ReasonNotDirectory
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return ReasonPermission
	}
	return ReasonInputOutput
}

// faultOf makes a fault of any error but the context's.
func faultOf(err error, role Role, subject string) error {
	if cancelled(err) {
		return err
	}
	var f *fault
	if !errors.As(err, &f) {
		f = &fault{reason: reasonOf(err), cause: err}
	}
	if f.role == "" {
		f.role = role
	}
	if f.subject == "" {
		f.subject = subject
	}
	return f
}

func cancelled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// stageOf is where a reason belongs when its place does not decide.
func stageOf(reason Reason) Stage {
	switch reason {
	case ReasonScript, ReasonShim, ReasonWrapperForm, ReasonNested, ReasonLayout:
		return StageWrapper
	case ReasonInputOutput:
		return StageUnavailable
	}
	return StageInstallation
}

// refuse makes a Refusal of an error. A stage that is not empty is used for every
// fault that has none of its own.
func (in *inspector) refuse(err error, stage Stage, rejected []Rejection) error {
	if err == nil || cancelled(err) || errors.Is(err, ErrConfig) {
		return err
	}
	var done *Refusal
	if errors.As(err, &done) {
		return done
	}
	var f *fault
	if !errors.As(err, &f) {
		f = &fault{reason: reasonOf(err), cause: err}
	}
	if f.stage != "" {
		stage = f.stage
	} else if stage == "" {
		stage = stageOf(f.reason)
	}
	if f.passed != nil {
		rejected = f.passed
	}
	return &Refusal{
		Client: in.client, Stage: stage, Reason: f.reason, Role: f.role, Subject: f.subject,
		Through: f.through, Manager: f.manager, Rejected: rejected, cause: f.cause,
	}
}
