package chat

import (
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// chunk is one event's object. Members that are not here are allowed: servers add
// their own.
type chunk struct {
	Error   jsontext.Value `json:"error"`
	Choices *[]choice      `json:"choices"`
	Usage   *usage         `json:"usage"`
}

type choice struct {
	Index        int    `json:"index"`
	Delta        delta  `json:"delta"`
	FinishReason string `json:"finish_reason"` // null and "" alike: not yet
}

type delta struct {
	Content      rawText         `json:"content"`
	Refusal      string          `json:"refusal"`
	ToolCalls    []toolCallDelta `json:"tool_calls"`
	FunctionCall *functionDelta  `json:"function_call"`
}

type toolCallDelta struct {
	Index    *int          `json:"index"`
	ID       string        `json:"id"`
	Type     string        `json:"type"`
	Function functionDelta `json:"function"`
}

type functionDelta struct {
	Name      string  `json:"name"`
	Arguments rawText `json:"arguments"`
}

type usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
}

// rawText is a JSON string as it stands, quotes included, because it may hold a
// part of a character. nil: null or absent.
type rawText struct {
	raw jsontext.Value
	end int64 // where it ended in the event
}

func (t *rawText) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	v, err := d.ReadValue()
	if err != nil {
		return err
	}
	switch v.Kind() {
	case 'n':
		*t = rawText{}
		return nil
	case '"':
		*t = rawText{raw: v.Clone(), end: d.InputOffset()}
		return nil
	default:
		return errors.New("chat: text is no string")
	}
}

// decode reads an event's data strictly, but for one thing: text and arguments may
// hold a part of a character, in bytes or in surrogate escapes.
func decode(data []byte) (*chunk, error) {
	c := new(chunk)
	strict := json.Unmarshal(data, c)
	if strict == nil {
		return c, nil
	}
	loose := new(chunk)
	if json.Unmarshal(data, loose, jsontext.AllowInvalidUTF8(true)) != nil {
		return nil, strict
	}
	// Everything else must stand up to strictness: read it again with these
	// strings blanked.
	blank := append([]byte(nil), data...)
	texts := loose.texts()
	for _, t := range texts {
		inside := blank[t.end-int64(len(t.raw))+1 : t.end-1]
		for i := range inside {
			inside[i] = '-'
		}
	}
	c = new(chunk)
	if err := json.Unmarshal(blank, c); err != nil {
		return nil, err
	}
	for i, t := range c.texts() {
		t.raw = texts[i].raw
	}
	return c, nil
}

// texts gives the strings that may hold a part of a character, in a fixed order.
func (c *chunk) texts() []*rawText {
	if c.Choices == nil {
		return nil
	}
	var all []*rawText
	add := func(t *rawText) {
		if t.raw != nil {
			all = append(all, t)
		}
	}
	for i := range *c.Choices {
		d := &(*c.Choices)[i].Delta
		add(&d.Content)
		for j := range d.ToolCalls {
			add(&d.ToolCalls[j].Function.Arguments)
		}
		if d.FunctionCall != nil {
			add(&d.FunctionCall.Arguments)
		}
	}
	return all
}
