package forecast

import (
	"cmp"
	"slices"
	"strings"
)

// Limit is a limit of a service or of the template, and how much of it a size takes.
type Limit struct {
	Name string
	// Bound is the limit, and Use what the size takes of it.
	Bound, Use float64
	Unit       string
	// Moves says which parameter or request moves the limit.
	Moves string
	// Parameters are the template's that move the limit. Default is the one whose default the bound is, "" for none.
	Parameters []string
	Default    string
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

// Limits lists the limits that grow with the users, the one that gives way first at its head.
func (in Input) Limits(s Size) []Limit {
	out := slices.Concat(templateLimits(s), awsLimits(s, in.Workload.IdleShare), pineconeLimits(s))
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
	const throttle = "ThrottlingRateLimit"
	out := []Limit{{
		Name: "requests to the HTTP API (`" + throttle + "`)", Bound: 200, Use: s.Peak(s.APICalls), Unit: "a second",
		Moves: "the parameter, up to the account's rate", Parameters: []string{throttle, "ThrottlingBurstLimit"},
		Default: throttle,
	}}
	for _, f := range []struct {
		what, function, parameter string
		bound                     float64
	}{
		{"answers at once", "coach", "CoachConcurrency", 50},
		{"prompts at once", "prompt", "PromptConcurrency", 100},
		{"instances of summarize", "summarize", "SummarizeConcurrency", 100},
		{"instances of remember", "remember", "RememberConcurrency", 100},
	} {
		out = append(out, Limit{
			Name: f.what + " (`" + f.parameter + "`)", Bound: f.bound, Use: s.Executions[f.function], Unit: "executions",
			Moves: "the parameter, up to the account's concurrency", Parameters: []string{f.parameter}, Default: f.parameter,
		})
	}
	return out
}

func awsLimits(s Size, idleShare float64) []Limit {
	return []Limit{
		{
			Name: "Lambda's concurrency in the account", Bound: accountConcurrency, Use: s.Concurrency(), Unit: "executions",
			Moves: "Service Quotas: concurrent executions (tens of thousands are usual)",
		},
		{
			Name: "requests to all HTTP APIs of the account", Bound: gatewayRate, Use: s.Peak(s.APICalls), Unit: "a second",
			Moves: "Service Quotas: throttle rate",
		},
		{
			Name: "write units of an on-demand table", Bound: tableUnits, Use: s.Peak(s.WriteUnits), Unit: "a second",
			Moves: "Service Quotas: table-level write throughput; warm throughput before a launch",
		},
		{
			Name: "read units of an on-demand table", Bound: tableUnits, Use: s.Peak(s.ReadUnits), Unit: "a second",
			Moves: "Service Quotas: table-level read throughput",
		},
		{
			Name: "writes of the `due` index, 16 shards", Bound: dueShards * partitionWrites,
			Use: s.Peak(s.Sessions) * dueWrites, Unit: "a second",
			Moves: "the number of shards in `internal/dynamo`; DynamoDB also splits a hot partition",
		},
		{
			Name: "sessions that fall due, one sweep at a time", Bound: sweepRate, Use: s.Peak(s.Sessions) * idleShare,
			Unit: "a second", Moves: "shards are swept side by side; the model's rate bounds it then",
		},
	}
}

func pineconeLimits(s Size) []Limit {
	return []Limit{
		{
			Name: "namespaces of one Pinecone index", Bound: indexNamespaces, Use: s.Users, Unit: "users",
			Moves: "further indexes, where users stay once they are there (`PineconeMoreIndexes`), shared namespaces " +
				"(`VectorNamespaces`), or Pinecone's support",
			Parameters: []string{"PineconeMoreIndexes", "PineconeNewUsersIndex", "VectorNamespaces"},
		},
		{
			Name: "namespaces of a Pinecone project, 20 indexes", Bound: indexNamespaces * projectIndexes, Use: s.Users,
			Unit: "users", Parameters: []string{"VectorNamespaces"},
			Moves: "shared namespaces (`VectorNamespaces`), the Enterprise plan (200 indexes), or Pinecone's support",
		},
		{
			Name: "read units of one Pinecone index", Bound: indexReadUnits, Use: s.Peak(s.IndexReads), Unit: "a second",
			Moves: "further indexes (`PineconeMoreIndexes`), or Pinecone's support",
		},
	}
}
