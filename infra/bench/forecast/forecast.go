package main

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
)

// input is what a forecast takes: everything in the files of docs/scale.
type input struct {
	Units    units
	Workload workload
	Prices   []price
	Limits   []limit
}

// workload is what is assumed about the users and the services.
type workload struct {
	Users                                              []float64
	SessionsPerUserAndDay, DaysPerMonth, PeakHourShare float64
	DaySessions                                        float64 // sessions of a user on a day with the app
	TurnsPerSession                                    int
	StoredMessagesPerUser                              float64
	IdleShare                                          float64 // of the sessions, left without a word
	FlexMissedShare, SweepSeconds                      float64 // of the patient calls; an invocation of the sweep
	Peers                                              []peer
	ColdReadUnitsPerTurn, ColdCallsPerTurn             float64 // where a turn's instance does not know the session
	OutputTokensPerAnswer                              float64 // in place of the offline model's
	ReasoningTokensPerAnswer, ReasoningTokensPerCall   float64 // billed as output, and in no answer
	CachedInputShare, CacheWriteShare, DenseDimensions float64
	LogMonths, Metrics, RouteMetrics, AlarmMetrics     float64
	Reads                                              reads
	Functions                                          map[string]function
}

// peer is a managed memory, with the list price of the same day.
type peer struct {
	Name, How, Source, Date string
	Cents                   float64
}

// reads are the calls of an app that only read.
type reads struct{ CallsPerSession, ReadUnitsPerSession, BytesPerSession float64 }

// function is what an invocation takes: how long it waits for others, which is assumed, the CPU time, which was
// measured under the Lambda emulator, and the memory, which is the template's. A batch of a stream is gathered for
// WindowSeconds, and each session's change after its first takes MoreSeconds.
type function struct{ WaitSeconds, CPUSeconds, MemoryMB, WindowSeconds, MoreSeconds float64 }

// wholeCPU is the memory, in MB, with which a function has one core. With less it has that part of one (AWS Lambda
// Developer Guide, "Configure Lambda function memory").
const wholeCPU = 1769

// Seconds is how long an invocation takes.
func (f function) Seconds() float64 { return f.WaitSeconds + f.ComputeMS()/1000 }

// ComputeMS is how many milliseconds of it the function computes.
func (f function) ComputeMS() float64 { return 1000 * f.CPUSeconds * max(1, wholeCPU/f.MemoryMB) }

// price is the list price of Per units of the quantities that it has for parts of the bill. Least is what these parts
// cost at least.
type price struct {
	What, Source, Date string
	USD, Per           float64
	Least              bool
	Costs              map[string]string
}

// limit is a limit of a service or of the template, and which quantity it bounds.
type limit struct {
	Name, Use, Unit string
	Bound           float64
	// Moves says which parameter or request moves the limit. Parameters are the template's among them. Default is the one
	// whose default the bound is.
	Moves      string
	Parameters []string
	Default    string
}

const (
	gigabyte = 1 << 30
	kilobyte = 1 << 10
	hour     = 3600
)

// What DynamoDB and Pinecone charge or bear (DynamoDB Developer Guide, "Designing partition keys"; Pinecone
// documentation, "Understanding cost").
const (
	partitionWrites = 1000
	leastQuery      = 0.25 // read units, and one for each GB of the namespace
	leastWrite      = 5    // write units, one for each KB
	// dueWrites is how many writes of the due index a session makes: it enters, is claimed or moved, and leaves.
	dueWrites = 4
	// sweepMost is how many records one invocation of the sweep works on before it starts workers.
	sweepMost = 500
	// flexForm ends the names of the calls in the flex tier.
	flexForm = "/flex"
)

// month is a forecast for a number of users: quantities by name, of a month unless the name says otherwise. The peak is
// one second of the busiest hour.
type month map[string]float64

// Total is the use of all functions in one session.
func (in input) Total() use {
	sum := use{}
	for _, name := range slices.Sorted(maps.Keys(in.Units.Session)) { // the sum of floats depends on their order
		sum.add(in.Units.Session[name])
	}
	return sum
}

// month works out the forecast for a number of users.
func (in input) month(users float64) month {
	w, used, turns := in.Workload, in.Total(), float64(in.Workload.TurnsPerSession)
	days := users * w.SessionsPerUserAndDay
	sessions, stored := days*w.DaysPerMonth, users*w.StoredMessagesPerUser/(2*turns)
	q := month{
		"one": 1, "users": users, "sessionsPerDay": days, "sessions": sessions, "turns": sessions * turns,
		"storedMessages": users * w.StoredMessagesPerUser,
		"calls":          sessions * (used["dynamodbCalls"] + turns*w.ColdCallsPerTurn + w.Reads.CallsPerSession),
		"readUnits":      sessions * (used["readUnits"] + turns*w.ColdReadUnitsPerTurn + w.Reads.ReadUnitsPerSession),
		"writeUnits":     sessions * used["writeUnits"],
		"tableGB":        stored * (in.Units.TableBytes + in.Units.IndexBytes) / gigabyte,
		"vectors":        stored * used["vectors"],
		"embeddedTokens": sessions * used["embeddingTokens"],
		"logGB":          sessions * used["logBytes"] / gigabyte,
		"metrics":        w.Metrics + w.RouteMetrics, "alarmMetrics": w.AlarmMetrics,
		"dueWrites": sessions * dueWrites, "dueSessions": sessions, // each is read for memories, if not summarised, too
		// the turns a second of one user that a partition bears
		"hotTurns": partitionWrites / (in.Units.Session["coach"]["writeUnits"] / turns),
	}
	q["keptLogGB"] = q["logGB"] * w.LogMonths
	peak := w.PeakHourShare / w.DaysPerMonth / hour
	// about one shard for each partition, of 1,000 write units a second or 10 GB
	shards := max(1, q["writeUnits"]*peak/partitionWrites, q["tableGB"]/10)
	q["streamShards"] = math.Ceil(shards)
	in.addInvocations(q, turns, shards)
	in.addIndex(q, used)
	in.addTokens(q, turns)
	dense := (used["indexQueries"] + used["vectors"]) * w.DenseDimensions * 4
	sent := used["sentBytes"] + dense + w.Reads.BytesPerSession + turns*w.OutputTokensPerAnswer*4
	q["egressGB"] = sessions * sent / gigabyte
	for name, n := range maps.Clone(q) {
		q[name+"Peak"] = n * peak
	}
	for _, name := range slices.Sorted(maps.Keys(w.Functions)) {
		q[name+"Executions"] = q[name+"SecondsPeak"]
		q["executions"] += q[name+"Executions"]
	}
	return q
}

// addInvocations adds those of the functions, and their seconds. A stream's batch has what came in its window, at the
// mean rate of the month: in the busiest hour it has more. X-Ray records one trace a second and 5% of the rest.
// The sweep works on what is due in one invocation a minute, and starts more from sweepMost records on. Each lasts as
// long as its slowest answer.
func (in input) addInvocations(q month, turns, shards float64) {
	w, minutes := in.Workload, in.Workload.DaysPerMonth*24*60
	perSession := map[string]float64{
		"messages": 2 + w.Reads.CallsPerSession, // a session is opened and completed
		"coach":    turns, "prompt": turns,
		"summarize": in.Units.Session["summarize"]["invocations"], "remember": in.Units.Session["remember"]["invocations"],
	}
	for _, name := range slices.Sorted(maps.Keys(perSession)) {
		f, n := w.Functions[name], q["sessions"]*perSession[name]
		more := n / (minutes * 60) / shards * f.WindowSeconds
		q[name+"Invocations"] = n / (1 + more)
		q[name+"Seconds"] = q[name+"Invocations"] * (f.Seconds() + more*f.MoreSeconds)
		q["invocations"] += q[name+"Invocations"]
		q["gbSeconds"] += q[name+"Seconds"] * f.MemoryMB / kilobyte
	}
	q["streamInvocations"] = (q["summarizeInvocations"] + q["rememberInvocations"]) / q["sessions"]
	visits := 1 + in.Units.Calls["spine"+flexForm]["modelCalls"] // for memories, and for the spine
	sweeps := minutes * math.Ceil(visits*q["sessions"]/minutes/sweepMost)
	q["invocations"] += sweeps
	q["gbSeconds"] += sweeps * w.SweepSeconds * w.Functions["summarize"].MemoryMB / kilobyte
	q["apiCalls"] = q["messagesInvocations"]
	q["traces"] = min(q["invocations"], in.Workload.DaysPerMonth*24*hour) + 0.05*q["invocations"]
}

// VectorBytes is what a vector takes: its dense values, those of its words, and its metadata.
func (in input) VectorBytes() float64 {
	used := in.Total()
	return used["vectorBytes"]/max(used["vectors"], 1) + in.Workload.DenseDimensions*4
}

// addIndex adds vectors and units of Pinecone. Each user has a namespace.
func (in input) addIndex(q month, used use) {
	bytes := in.VectorBytes()
	q["vectorGB"] = q["vectors"] * bytes / gigabyte
	q["indexReads"] = q["sessions"] * used["indexQueries"] * max(leastQuery, q["vectorGB"]/q["users"])
	perWrite := max(leastWrite, math.Ceil(bytes*used["vectors"]/max(used["indexWrites"], 1)/kilobyte))
	q["indexWrites"] = q["sessions"] * used["indexWrites"] * perWrite
}

// addTokens adds those of the chat and of the background, as the model's provider bills them.
func (in input) addTokens(q month, turns float64) {
	w, n := in.Workload, q["sessions"]*in.Units.Session["coach"]["inputTokens"]
	q["chatCachedInput"] = n * w.CachedInputShare
	q["chatWrittenInput"] = (n - q["chatCachedInput"]) * w.CacheWriteShare
	q["chatPlainInput"] = n - q["chatCachedInput"] - q["chatWrittenInput"]
	q["chatOutput"] = q["turns"] * (w.OutputTokensPerAnswer + w.ReasoningTokensPerAnswer)
	q["inputTokens"], q["outputTokens"] = n, q["chatOutput"]
	for _, form := range slices.Sorted(maps.Keys(in.Units.Calls)) {
		used := in.Units.Calls[form].Times(q["sessions"])
		used["outputTokens"] += used["reasoningCalls"] * w.ReasoningTokensPerCall
		for tier, share := range in.tiers(form) {
			q[tier+"CachedInput"] += share * used["cachedTokens"]
			q[tier+"PlainInput"] += share * (used["inputTokens"] - used["cachedTokens"])
			q[tier+"Output"] += share * used["outputTokens"]
		}
		q["inputTokens"] += used["inputTokens"]
		q["outputTokens"] += used["outputTokens"]
	}
	q["tokensOfAMinute"] = 60 * (q["inputTokens"] + q["outputTokens"])
}

// tiers are the shares of a kind of background calls in each tier. The measured sessions are completed, and the
// summaries of those that are left without a word are the sweep's, in flex. The default tier answers what flex refuses.
func (in input) tiers(form string) map[string]float64 {
	patient := in.Workload.IdleShare
	if strings.HasSuffix(form, flexForm) {
		patient = 1
	}
	patient *= 1 - in.Workload.FlexMissedShare
	return map[string]float64{"flex": patient, "background": 1 - patient}
}

// call is a kind of the background's calls, with what a day's use.
type call struct {
	Name, Tier string
	Use        use
}

// Background lists the background's calls of a user's day, and last their sum.
func (in input) Background() (calls []call) {
	sum := call{"**all**", "", use{}}
	for _, form := range slices.Sorted(maps.Keys(in.Units.Calls)) {
		c := call{form, "default", in.Units.Calls[form].Times(in.Workload.DaySessions)}
		if name, isFlex := strings.CutSuffix(form, flexForm); isFlex {
			c.Name, c.Tier = name, "flex"
		}
		calls = append(calls, c)
		sum.Use.add(c.Use)
	}
	return append(calls, sum)
}

// cost is the money for one part of the bill.
type cost struct {
	Part string
	USD  float64
}

// bill works out what a month costs, by part in the order of the prices.
func (in input) bill(q month) (bill []cost) {
	for _, p := range in.Prices {
		for _, part := range slices.Sorted(maps.Keys(p.Costs)) {
			i := slices.IndexFunc(bill, func(c cost) bool { return c.Part == part })
			if i < 0 {
				i, bill = len(bill), append(bill, cost{Part: part})
			}
			if n, ok := q[p.Costs[part]]; !ok {
				bill[i].USD = math.NaN() // a test finds it
			} else if usd := n / p.Per * p.USD; p.Least {
				bill[i].USD = max(bill[i].USD, usd)
			} else {
				bill[i].USD += usd
			}
		}
	}
	return bill
}

// chatPart is the part of the bill that a day is given without, too.
const chatPart = "OpenAI: the chat's answers"

// day is what one user's day with the app costs.
type day struct {
	Costs            []cost
	USD, WithoutChat float64
}

// day works out a user's day: the month of users who have that many sessions every day, divided by users and days. They
// are so many that what a service charges at least is no part of one user's day.
func (in input) day() (d day) {
	const users = 1_000_000
	in.Workload.SessionsPerUserAndDay = in.Workload.DaySessions
	for _, c := range in.bill(in.month(users)) {
		c.USD /= users * in.Workload.DaysPerMonth
		if d.Costs, d.USD = append(d.Costs, c), d.USD+c.USD; c.Part != chatPart {
			d.WithoutChat += c.USD
		}
	}
	return d
}

// size is the forecast for a number of users.
type size struct {
	Month        month
	Bill         []cost
	USD, PerUser float64
	Limits       []taken
	// Passed names the limits that are reached, in the order in which they give way.
	Passed string
}

// taken is a limit with what the size takes of it, and the number of users at which it is reached.
type taken struct {
	limit
	Use, Share, Users float64
}

func (in input) size(users float64) size {
	s := size{Month: in.month(users)}
	s.Bill = in.bill(s.Month)
	for _, c := range s.Bill {
		s.USD += c.USD
	}
	s.PerUser = s.USD / users
	for _, l := range in.Limits {
		use := s.Month[l.Use]
		s.Limits = append(s.Limits, taken{l, use, use / l.Bound, users / (use / l.Bound)})
	}
	slices.SortStableFunc(s.Limits, func(a, b taken) int { return cmp.Compare(b.Share, a.Share) })
	var passed []string
	for _, l := range s.Limits {
		if l.Share >= 1 {
			passed = append(passed, l.Name)
		}
	}
	s.Passed = strings.Join(passed, "; ")
	return s
}
