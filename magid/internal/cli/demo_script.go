package cli

import (
	"strings"
	"time"

	"github.com/magi-jig/magi-jig/magid/scripted"
)

// What the scripted model knows about lighthouses. The first turn stops twice: where the application loses its
// connection, and before its last words, for which the application is back.
const (
	askedFirst  = "How does a lighthouse keep its promise?"
	beforeCut   = "A lighthouse keeps one promise: the light goes round, "
	whileAlone  = "whether a ship is looking or not. Nobody has to be there "
	afterReturn = "for it to be true, and whoever comes back finds it turning.\n"

	askedSecond    = "What does the keeper's log say about last night?"
	beforeCall     = "Let me look at the log.\n"
	afterCall      = "\n\nLast night was foggy from two until dawn. The keeper counted eleven ships, and every one of them found the harbour.\n"
	logOfTheKeeper = "02:00  fog\n02:10  horn on\n05:50  fog lifts, eleven ships counted, all in harbour\n"

	askedThird  = "Fog is coming in. Warn the ships."
	beforeHorn  = "Fog, then the horn.\n"
	afterHorn   = "\n\nThe horn went for ten minutes from a quarter past two. Whoever is out there has heard it.\n"
	hornSounded = "02:15, for 10 minutes"
)

// What the application lends: a tool, whose contract it keeps in a file of the workspace, and a skill.
const (
	toolName, toolFile   = "sound_horn", "sound_horn.json"
	skillName, skillFile = "manners", "manners.md"
	toolDescription      = "Sounds the fog horn for so many minutes."
	hornContract         = `{
  "input_schema": {
    "type": "object", "additionalProperties": false,
    "properties": {"minutes": {"type": "integer", "minimum": 1, "maximum": 30}},
    "required": ["minutes"]
  },
  "output_schema": {
    "type": "object", "additionalProperties": false,
    "properties": {"sounded": {"type": "string", "maxLength": 100}},
    "required": ["sounded"]
  },
  "timeout_ms": 60000
}
`
	keepersManners = "Speak as a keeper does: briefly, and always with the hour.\n"
)

// Names of the places where the model waits.
const (
	holdCut    = "cut"
	holdReturn = "return"
)

// pace is how fast the model speaks to a person; nobody else has to wait for it.
const pace = 45 * time.Millisecond

func (d *demo) script() []scripted.Reply {
	var first []scripted.Step
	first = append(first, d.speak(beforeCut)...)
	first = append(first, scripted.Hold(holdCut))
	first = append(first, d.speak(whileAlone)...)
	first = append(first, scripted.Hold(holdReturn))
	first = append(first, d.speak(afterReturn)...)

	second := append(d.speak(beforeCall),
		scripted.ToolCall(scripted.Call{ID: "call_1", Name: "read_file", Arguments: `{"path":"log.txt"}`}),
		scripted.Finish("tool_calls"), scripted.Usage(80, 12), scripted.Done())
	third := append(d.speak(beforeHorn),
		scripted.ToolCall(scripted.Call{ID: "call_2", Name: toolName, Arguments: `{"minutes":10}`}),
		scripted.Finish("tool_calls"), scripted.Usage(180, 14), scripted.Done())
	return []scripted.Reply{
		{Steps: append(first, scripted.Finish("stop"), scripted.Usage(40, 38), scripted.Done())},
		{Steps: second},
		{Steps: append(d.speak(strings.TrimLeft(afterCall, "\n")), scripted.Finish("stop"), scripted.Usage(120, 24), scripted.Done())},
		{Steps: third},
		{Steps: append(d.speak(strings.TrimLeft(afterHorn, "\n")), scripted.Finish("stop"), scripted.Usage(210, 20), scripted.Done())},
	}
}

// speak streams a text word by word.
func (d *demo) speak(text string) []scripted.Step {
	var steps []scripted.Step
	for _, word := range strings.SplitAfter(text, " ") {
		if d.app.outTerminal {
			steps = append(steps, scripted.Wait(pace))
		}
		steps = append(steps, scripted.Text(word))
	}
	return steps
}
