package forecast

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Limit is a limit of a service or of the template, and how much of it a size takes.
type Limit struct {
	Name string
	// Bound is the limit, and Use what the size takes of it.
	Bound, Use float64
	Unit       string
	// Moves says which parameter or request moves the limit. Parameters are names of the template's.
	Moves      string
	Parameters []string
}

// Share is how much of the limit is taken.
func (l Limit) Share() float64 { return l.Use / l.Bound }

// Users is the number of users at which the limit is reached, if it grows with them.
func (l Limit) Users(s Size) float64 { return s.Users / l.Share() }

// The limits of the services. AWS: "Lambda quotas", "Amazon API Gateway quotas", and DynamoDB's "Service, account, and
// table quotas", all without an increase. Pinecone: "Pinecone Database limits", Standard plan.
const (
	accountConcurrency = 1000
	gatewayRate        = 10_000
	tableUnits         = 40_000
	partitionWrites    = 1000
	dueShards          = 16
	// dueWrites is how many writes of the due index a session makes: it enters, is claimed or moved, and leaves.
	dueWrites       = 4
	indexNamespaces = 100_000
	projectIndexes  = 20
	indexReadUnits  = 2000
	sweepRate       = 20
)

// The template's defaults.
const (
	defaultCoach    = 50
	defaultOthers   = 100
	defaultThrottle = 200
)

// Defaults are the same as texts, by the names of the parameters. A test compares them with the template.
var Defaults = map[string]string{
	"CoachConcurrency": strconv.Itoa(defaultCoach), "ThrottlingRateLimit": strconv.Itoa(defaultThrottle),
	"PromptConcurrency": strconv.Itoa(defaultOthers), "SummarizeConcurrency": strconv.Itoa(defaultOthers),
	"RememberConcurrency": strconv.Itoa(defaultOthers),
}

// Limits lists the limits that grow with the users, the one that gives way first at its head.
func (in Input) Limits(s Size) []Limit {
	out := slices.Concat(templateLimits(s), awsLimits(s), pineconeLimits(s))
	slices.SortStableFunc(out, func(a, b Limit) int { return cmp.Compare(b.Share(), a.Share()) })
	return out
}

// Passed names the limits that a size has reached, in the order in which they give way.
func (in Input) Passed(s Size) string {
	var passed []string
	for _, l := range in.Limits(s) {
		if l.Share() >= 1 {
			passed = append(passed, l.Name)
		}
	}
	return strings.Join(passed, "; ")
}

// templateLimits are the bounds that the template sets by default.
func templateLimits(s Size) []Limit {
	out := []Limit{{
		Name: "requests to the HTTP API (`ThrottlingRateLimit`)", Bound: defaultThrottle, Use: s.PeakAPICalls,
		Unit: "a second", Moves: "the parameter, up to the account's rate",
		Parameters: []string{"ThrottlingRateLimit", "ThrottlingBurstLimit"},
	}}
	for _, f := range []struct {
		name, parameter string
		bound, use      float64
	}{
		{"answers at once", "CoachConcurrency", defaultCoach, s.CoachConcurrency},
		{"prompts at once", "PromptConcurrency", defaultOthers, s.PromptConcurrency},
		{"instances of summarize", "SummarizeConcurrency", defaultOthers, s.SummarizeConcurrency},
		{"instances of remember", "RememberConcurrency", defaultOthers, s.RememberConcurrency},
	} {
		out = append(out, Limit{
			Name: f.name + " (`" + f.parameter + "`)", Bound: f.bound, Use: f.use, Unit: "executions",
			Moves: "the parameter, up to the account's concurrency", Parameters: []string{f.parameter},
		})
	}
	return out
}

func awsLimits(s Size) []Limit {
	return []Limit{
		{
			Name: "Lambda's concurrency in the account", Bound: accountConcurrency, Use: s.Concurrency, Unit: "executions",
			Moves: "Service Quotas: concurrent executions (tens of thousands are usual)",
		},
		{
			Name: "requests to all HTTP APIs of the account", Bound: gatewayRate, Use: s.PeakAPICalls, Unit: "a second",
			Moves: "Service Quotas: throttle rate",
		},
		{
			Name: "write units of an on-demand table", Bound: tableUnits, Use: s.PeakWrites, Unit: "a second",
			Moves: "Service Quotas: table-level write throughput; warm throughput before a launch",
		},
		{
			Name: "read units of an on-demand table", Bound: tableUnits, Use: s.PeakReads, Unit: "a second",
			Moves: "Service Quotas: table-level read throughput",
		},
		{
			Name: "writes of the `due` index, 16 shards", Bound: dueShards * partitionWrites, Use: s.PeakSessions * dueWrites,
			Unit: "a second", Moves: "the number of shards in `internal/dynamo`; DynamoDB also splits a hot partition",
		},
		{
			Name: "sessions that fall due, one sweep at a time", Bound: sweepRate, Use: s.PeakDue, Unit: "a second",
			Moves: "shards are swept side by side; the model's rate bounds it then",
		},
	}
}

func pineconeLimits(s Size) []Limit {
	return []Limit{
		{
			Name: "namespaces of one Pinecone index", Bound: indexNamespaces, Use: s.Namespaces, Unit: "users",
			Moves: "further indexes, where users stay once they are there (`PineconeMoreIndexes`), shared namespaces " +
				"(`VectorNamespaces`), or Pinecone's support",
			Parameters: []string{"PineconeMoreIndexes", "PineconeNewUsersIndex", "VectorNamespaces"},
		},
		{
			Name: "namespaces of a Pinecone project, 20 indexes", Bound: indexNamespaces * projectIndexes, Use: s.Namespaces,
			Unit: "users", Parameters: []string{"VectorNamespaces"},
			Moves: "shared namespaces (`VectorNamespaces`), the Enterprise plan (200 indexes), or Pinecone's support",
		},
		{
			Name: "read units of one Pinecone index", Bound: indexReadUnits, Use: s.PeakIndexReads, Unit: "a second",
			Moves: "further indexes (`PineconeMoreIndexes`), or Pinecone's support",
		},
	}
}
