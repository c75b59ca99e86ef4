package appresources

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const emptySchema = `{"type":"object","additionalProperties":false,"properties":{},"required":[]}`

// source builds a tool source around an input schema and a tail of members.
func source(input, tail string) string {
	return `{"input_schema":` + input + `,"output_schema":` + emptySchema + tail + `}`
}

// one builds a schema with one property p.
func one(property string) string {
	return `{"type":"object","additionalProperties":false,"properties":{"p":` + property + `},"required":["p"]}`
}

func parse(t *testing.T, text string) *Contract {
	t.Helper()
	c, err := ParseContract([]byte(text))
	require.NoError(t, err, "%s", text)
	return c
}

func requireRefused(t *testing.T, text string) {
	t.Helper()
	c, err := ParseContract([]byte(text))
	requireCode(t, CodeInvalidPayload, err)
	require.Nil(t, c)
}

// rule, M-072
func TestTimeoutIsAWholeNumberOfMillisecondsInBounds(t *testing.T) {
	require.Equal(t, 120*time.Second, parse(t, source(emptySchema, "")).Timeout)
	for _, ms := range []int{1000, 1001, 120000, 599999, 600000} {
		c := parse(t, source(emptySchema, `,"timeout_ms":`+strconv.Itoa(ms)))
		require.Equal(t, time.Duration(ms)*time.Millisecond, c.Timeout)
	}
	for _, bad := range []string{
		"999", "600001", "0", "-1", "-0", "null", `"1000"`, "1000.0", "1000.5", "1e3", "1E3", "10e2", "true", "[]", "{}", "[1000]",
		"9223372036854775808", "9999999999999999999999", "1e400", "01000", "+1000", "0x3e8", "1_000", "",
	} {
		requireRefused(t, source(emptySchema, `,"timeout_ms":`+bad))
	}
}

// rule: A-032
func TestContractHasExactlyItsMembers(t *testing.T) {
	parse(t, `{"timeout_ms":1000,"output_schema":`+emptySchema+`,"input_schema":`+emptySchema+`}`)
	parse(t, " \r\n\t"+source(emptySchema, "")+"\n")
	for _, bad := range []string{
		`{}`, `{"input_schema":` + emptySchema + `}`, `{"output_schema":` + emptySchema + `}`,
		source(emptySchema, `,"name":"x"`), source(emptySchema, `,"Timeout_ms":1000`), source(emptySchema, `,"":1`),
		`{"inputSchema":` + emptySchema + `,"output_schema":` + emptySchema + `}`,
		`[` + source(emptySchema, "") + `]`, `null`, `""`, `1`, `true`, ``, ` `,
		`{"input_schema":null,"output_schema":` + emptySchema + `}`,
		`{"input_schema":` + emptySchema + `,"output_schema":null}`,
		`{"input_schema":true,"output_schema":` + emptySchema + `}`,
		`{"input_schema":{},"output_schema":` + emptySchema + `}`,
	} {
		requireRefused(t, bad)
	}
}

// rule
func TestContractIsStrictJSON(t *testing.T) {
	good := source(one(`{"type":"boolean"}`), "")
	parse(t, good)
	for name, bad := range map[string]string{
		"trailing comma":        strings.TrimSuffix(good, "}") + ",}",
		"trailing data":         good + "{}",
		"trailing garbage":      good + "x",
		"second value":          good + " null",
		"comment":               good + "// x",
		"BOM":                   "\ufeff" + good,
		"single quotes":         strings.ReplaceAll(good, `"`, `'`),
		"cut off":               good[:len(good)-1],
		"NUL after":             good + "\x00",
		"invalid UTF-8":         strings.Replace(good, `"p"`, "\"p\xff\"", 2),
		"lone surrogate":        strings.Replace(good, `"p"`, `"p\ud800"`, 2),
		"duplicate member":      source(emptySchema, `,"timeout_ms":1000,"timeout_ms":1000`),
		"escaped duplicate":     source(emptySchema, `,"timeout_ms":1000,"timeout_m\u0073":1000`),
		"duplicate schema":      source(emptySchema, `,"input_schema":`+emptySchema),
		"duplicate in schema":   source(`{"type":"object","type":"object","additionalProperties":false,"properties":{},"required":[]}`, ""),
		"duplicate property":    source(`{"type":"object","additionalProperties":false,"properties":{"p":{"type":"boolean"},"p":{"type":"boolean"}},"required":["p"]}`, ""),
		"duplicate in property": source(one(`{"type":"boolean","type":"boolean"}`), ""),
		"deep":                  source(strings.Repeat(`{"properties":`, 20000)+"1"+strings.Repeat("}", 20000), ""),
		"deep array":            strings.Repeat("[", 30000),
	} {
		t.Run(name, func(t *testing.T) { requireRefused(t, bad) })
	}
}

// rule: A-181, M-071
func TestSchemaObjectHasExactlyFourMembers(t *testing.T) {
	parse(t, source(`{"required":[],"properties":{},"additionalProperties":false,"type":"object"}`, ""))
	for _, bad := range []string{
		`{"additionalProperties":false,"properties":{},"required":[]}`,
		`{"type":"object","properties":{},"required":[]}`,
		`{"type":"object","additionalProperties":false,"required":[]}`,
		`{"type":"object","additionalProperties":false,"properties":{}}`,
		`{"type":"object","additionalProperties":true,"properties":{},"required":[]}`,
		`{"type":"object","additionalProperties":{},"properties":{},"required":[]}`,
		`{"type":"object","additionalProperties":null,"properties":{},"required":[]}`,
		`{"type":"object","additionalProperties":"false","properties":{},"required":[]}`,
		`{"type":"object","additionalProperties":0,"properties":{},"required":[]}`,
		`{"type":"array","additionalProperties":false,"properties":{},"required":[]}`,
		`{"type":"Object","additionalProperties":false,"properties":{},"required":[]}`,
		`{"type":["object"],"additionalProperties":false,"properties":{},"required":[]}`,
		`{"type":null,"additionalProperties":false,"properties":{},"required":[]}`,
		`{"type":"object","additionalProperties":false,"properties":[],"required":[]}`,
		`{"type":"object","additionalProperties":false,"properties":null,"required":[]}`,
		`{"type":"object","additionalProperties":false,"properties":{},"required":{}}`,
		`{"type":"object","additionalProperties":false,"properties":{},"required":null}`,
		`{"type":"object","additionalProperties":false,"properties":{},"required":[],"title":"x"}`,
		`{"type":"object","additionalProperties":false,"properties":{},"required":[],"$schema":"x"}`,
		`{"type":"object","additionalProperties":false,"properties":{},"required":[],"description":"x"}`,
		`{"type":"object","additionalProperties":false,"properties":{},"required":[],"$defs":{}}`,
	} {
		requireRefused(t, source(bad, ""))
		requireRefused(t, `{"input_schema":`+emptySchema+`,"output_schema":`+bad+`}`)
	}
}

// rule: M-064, M-065, M-066, M-067, M-072, A-183
func TestPropertiesAreExactlyTheThreeForms(t *testing.T) {
	for _, good := range []string{
		`{"type":"string","maxLength":1}`, `{"type":"string","maxLength":2}`, `{"maxLength":4095,"type":"string"}`,
		`{"type":"string","maxLength":4096}`, `{"type":"boolean"}`, `{"type":"integer","minimum":0,"maximum":0}`,
		`{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}`,
		`{"type":"integer","minimum":-9007199254740990,"maximum":9007199254740990}`,
		`{"maximum":5,"minimum":-5,"type":"integer"}`, `{"type":"integer","minimum":5,"maximum":5}`,
	} {
		parse(t, source(one(good), ""))
	}
	for _, bad := range []string{
		`{}`, `{"maxLength":5}`, `{"minimum":1,"maximum":2}`, `true`, `null`, `"string"`, `[]`, `1`,
		`{"type":"string"}`, `{"type":"string","maxLength":0}`, `{"type":"string","maxLength":4097}`, `{"type":"string","maxLength":-1}`,
		`{"type":"string","maxLength":1.0}`, `{"type":"string","maxLength":1e3}`, `{"type":"string","maxLength":-0}`,
		`{"type":"string","maxLength":"5"}`, `{"type":"string","maxLength":null}`, `{"type":"string","maxLength":5,"minLength":1}`,
		`{"type":"string","maxLength":5,"pattern":"a"}`, `{"type":"string","maxLength":5,"enum":["a"]}`,
		`{"type":"string","maxLength":5,"minimum":1}`, `{"type":"string","maxLength":5,"description":"x"}`,
		`{"type":"boolean","maxLength":5}`, `{"type":"boolean","default":true}`, `{"type":"boolean","minimum":0,"maximum":1}`,
		`{"type":"integer"}`, `{"type":"integer","minimum":1}`, `{"type":"integer","maximum":1}`,
		`{"type":"integer","minimum":2,"maximum":1}`, `{"type":"integer","minimum":0,"maximum":1,"maxLength":1}`,
		`{"type":"integer","minimum":0,"maximum":9007199254740992}`, `{"type":"integer","minimum":-9007199254740992,"maximum":0}`,
		`{"type":"integer","minimum":-0,"maximum":1}`, `{"type":"integer","minimum":0.0,"maximum":1}`,
		`{"type":"integer","minimum":0,"maximum":1e1}`, `{"type":"integer","minimum":0,"maximum":839e89}`,
		`{"type":"integer","minimum":null,"maximum":1}`, `{"type":"integer","minimum":"0","maximum":1}`,
		`{"type":"integer","minimum":0,"maximum":1,"multipleOf":1}`, `{"type":"integer","minimum":0,"exclusiveMaximum":1}`,
		`{"type":"number"}`, `{"type":"number","minimum":0,"maximum":1}`, `{"type":"null"}`, `{"type":"array","items":{}}`,
		`{"type":"String","maxLength":5}`, `{"type":["string"],"maxLength":5}`, `{"Type":"boolean"}`,
		emptySchema, `{"type":"object"}`, `{"$ref":"#"}`, `{"anyOf":[{"type":"boolean"}]}`,
	} {
		requireRefused(t, source(one(bad), ""))
	}
}

// rule: M-068
func TestPropertyNamesAreIdentifiersOf1To48Characters(t *testing.T) {
	with := func(name string) string {
		return source(fmt.Sprintf(`{"type":"object","additionalProperties":false,"properties":{%[1]s:{"type":"boolean"}},"required":[%[1]s]}`, name), "")
	}
	for _, name := range []string{"a", "A", "_", "a9", "Z_9a", "__proto__", strings.Repeat("a", 47), strings.Repeat("A", 48)} {
		c := parse(t, with(`"`+name+`"`))
		require.Equal(t, name, c.Input.Properties()[0].Name)
	}
	require.Equal(t, "ab", parse(t, with(`"\u0061b"`)).Input.Properties()[0].Name)
	for _, name := range []string{``, `9`, `9a`, `a-b`, `a b`, `a.b`, `ä`, `\u00e4`, `a\n`, `$ref`, `a\u0000`, strings.Repeat("a", 49)} {
		requireRefused(t, with(`"`+name+`"`))
	}
}

func manyProperties(n int) string {
	var properties, required []string
	for i := range n {
		properties = append(properties, fmt.Sprintf(`"p%d":{"type":"boolean"}`, i))
		required = append(required, fmt.Sprintf(`"p%d"`, i))
	}
	return `{"type":"object","additionalProperties":false,"properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") + `]}`
}

// rule: M-070
func TestSchemaHasAtMost32Properties(t *testing.T) {
	for _, n := range []int{0, 1, 31, 32} {
		require.Len(t, parse(t, source(manyProperties(n), "")).Input.Properties(), n)
	}
	requireRefused(t, source(manyProperties(33), ""))
	requireRefused(t, source(manyProperties(400), ""))
}

// rule: M-069
func TestRequiredNamesEveryPropertyOnce(t *testing.T) {
	with := func(required string) string {
		return source(`{"type":"object","additionalProperties":false,"properties":{"a":{"type":"boolean"},"b":{"type":"boolean"}},"required":`+required+`}`, "")
	}
	parse(t, with(`["a","b"]`))
	parse(t, with(`["b","a"]`))
	parse(t, with(`["b","\u0061"]`))
	for _, bad := range []string{
		`[]`, `["a"]`, `["a","c"]`, `["a","b","c"]`, `["a","b","a"]`, `["a","a"]`, `["a","A"]`, `[1,2]`, `["a",null]`, `"a"`, `["a" "b"]`,
		`["a","b"`, `["a","b",]`, `[["a"],"b"]`, `["a","b",` + strings.Repeat(`"a",`, 100) + `"b"]`,
	} {
		requireRefused(t, with(bad))
	}
}

// rule: M-073
func TestSchemaEncodingIsCompactAndKeepsTheOrderOfProperties(t *testing.T) {
	c := parse(t, `{ "input_schema": { "required": ["\u0062","a","c"], "properties": {
		"b": {"maxLength": 5, "type": "string"}, "\u0061": {"type":"boolean"}, "c": {"maximum": 7, "type": "integer", "minimum": -7} },
		"type": "object", "additionalProperties": false }, "output_schema": `+emptySchema+` }`)
	require.Equal(t, `{"type":"object","additionalProperties":false,"properties":{"b":{"type":"string","maxLength":5},"a":{"type":"boolean"},`+
		`"c":{"type":"integer","minimum":-7,"maximum":7}},"required":["b","a","c"]}`, string(c.Input.Encoded()))
	require.Equal(t, emptySchema, string(c.Output.Encoded()))
	again := parse(t, source(string(c.Input.Encoded()), ""))
	require.Equal(t, c.Input, again.Input)
}

func TestContractErrorsQuoteNothingOfTheSource(t *testing.T) {
	const canary = "hunter2"
	for _, bad := range []string{
		source(emptySchema, `,"`+canary+`":1`), source(emptySchema, `,"timeout_ms":"`+canary+`"`), source(emptySchema, "") + canary,
		source(one(`{"type":"`+canary+`"}`), ""), source(one(`{"`+canary+`":1}`), ""), `{"` + canary + `":1,"` + canary + `":2}`,
		`"` + canary + `"`, canary, source(`{"type":"object","additionalProperties":false,"properties":{"`+canary+`":{}},"required":[]}`, ""),
		source(`{"type":"object","additionalProperties":false,"properties":{},"required":["`+canary+`"]}`, ""),
		source(one(`{"type":"boolean","x\`+canary+`":1}`), ""),
	} {
		_, err := ParseContract([]byte(bad))
		requireCode(t, CodeInvalidPayload, err)
		require.NotContains(t, err.Error(), canary)
		require.NotContains(t, err.Error(), "\n")
	}
}
