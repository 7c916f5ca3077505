// Package forecast works out what a number of users comes to, from measured unit costs, assumptions about the users and
// list prices. Everything that it takes is in the files of docs/scale.
package forecast

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/throughline/throughline/infra/bench/scale/unitbench"
)

// The files of docs/scale.
const (
	UnitsFile    = "units.json"
	workloadFile = "workload.json"
	pricesFile   = "prices.json"
)

// Input is what a forecast takes.
type Input struct {
	Units    unitbench.Units
	Workload Workload
	Prices   Prices
}

// Workload is what is assumed about the users and the services.
type Workload struct {
	Users                 []float64 `json:"users"`
	SessionsPerUserAndDay float64   `json:"sessionsPerUserAndDay"`
	// DaySessions is how many sessions a user has on a day with the app.
	DaySessions     float64 `json:"daySessions"`
	TurnsPerSession int     `json:"turnsPerSession"`
	// PeakHourShare is how much of a day falls into its busiest hour.
	PeakHourShare         float64 `json:"peakHourShare"`
	DaysPerMonth          float64 `json:"daysPerMonth"`
	StoredMessagesPerUser float64 `json:"storedMessagesPerUser"`
	// IdleShare is how many sessions are left without a word, so that the sweep finds them.
	IdleShare float64 `json:"idleShare"`
	// ColdReadUnitsPerTurn and ColdCallsPerTurn come on top where each turn meets an instance that does not know the
	// session, as it does with many instances (docs/benchmarks.md, "cold").
	ColdReadUnitsPerTurn float64 `json:"coldReadUnitsPerTurn"`
	ColdCallsPerTurn     float64 `json:"coldCallsPerTurn"`
	CachedInputShare     float64 `json:"cachedInputShare"`
	// OutputTokensPerAnswer replace those of the offline model.
	OutputTokensPerAnswer float64 `json:"outputTokensPerAnswer"`
	// ReasoningTokensPerAnswer and ReasoningTokensPerCall, of the background, are billed as output and are in no answer.
	ReasoningTokensPerAnswer float64 `json:"reasoningTokensPerAnswer"`
	ReasoningTokensPerCall   float64 `json:"reasoningTokensPerCall"`
	// CacheWriteShare is how much of the input that is not cached the provider writes to its cache.
	CacheWriteShare float64 `json:"cacheWriteShare"`
	DenseDimensions float64 `json:"denseDimensions"`
	// LogMonths is how long logs are kept. Metrics are those of the functions by name, RouteMetrics those of the HTTP
	// API's routes, AlarmMetrics those that alarms read.
	LogMonths    float64 `json:"logMonths"`
	Metrics      float64 `json:"metrics"`
	RouteMetrics float64 `json:"routeMetrics"`
	AlarmMetrics float64 `json:"alarmMetrics"`
	// Reads are the lists and pages that an app shows.
	Reads     Reads               `json:"reads"`
	Functions map[string]Function `json:"functions"`
}

// Reads are the calls of an app that only read.
type Reads struct {
	CallsPerSession     float64 `json:"callsPerSession"`
	ReadUnitsPerSession float64 `json:"readUnitsPerSession"`
	BytesPerSession     float64 `json:"bytesPerSession"`
}

// Function is what an invocation takes: how long it waits for others, which is assumed, the CPU time, as make
// bench-memory measures it (docs/benchmarks.md), and the memory, which is the template's.
type Function struct {
	WaitSeconds float64 `json:"waitSeconds"`
	CPUSeconds  float64 `json:"cpuSeconds"`
	MemoryMB    float64 `json:"memoryMB"`
}

// wholeCPU is the memory, in MB, with which a function has one core. With less it has that part of one (AWS Lambda
// Developer Guide, "Configure Lambda function memory").
const wholeCPU = 1769

// Seconds is how long an invocation takes.
func (f Function) Seconds() float64 { return f.WaitSeconds + f.ComputeMS()/1000 }

// ComputeMS is how many milliseconds of it the function computes.
func (f Function) ComputeMS() float64 { return 1000 * f.CPUSeconds * max(1, wholeCPU/f.MemoryMB) }

// Prices are list prices.
type Prices struct {
	Prices []Price `json:"prices"`
	Peers  []Peer  `json:"peers"`
}

// Price is one list price.
type Price struct {
	Name   string  `json:"name"`
	What   string  `json:"what"`
	USD    float64 `json:"usd"`
	Source string  `json:"source"`
	Date   string  `json:"date"`
}

// Peer is a managed service that does the same work, with the prices that it lists. Without a unit no sum is made of
// them, and the note says why.
type Peer struct {
	Name                       string  `json:"name"`
	Unit                       string  `json:"unit"`
	PerMonth                   float64 `json:"perMonth"`
	PerThousandEvents          float64 `json:"perThousandEvents"`
	PerThousandRecordsAndMonth float64 `json:"perThousandRecordsAndMonth"`
	PerThousandRetrievals      float64 `json:"perThousandRetrievals"`
	PerActiveUserAndMonth      float64 `json:"perActiveUserAndMonth"`
	PerMillionTokens           float64 `json:"perMillionTokens"`
	Note                       string  `json:"note"`
	Source                     string  `json:"source"`
	Date                       string  `json:"date"`
}

// USD is what a peer lists for the month of a size, 0 for one without a unit.
func (p Peer) USD(s Size) float64 {
	if p.Unit == "" {
		return 0
	}
	records := s.StoredMessages / (2 * s.Turns / s.Sessions)
	return p.PerMonth + s.Turns/1000*(p.PerThousandEvents+p.PerThousandRetrievals) +
		records/1000*p.PerThousandRecordsAndMonth + s.Users*p.PerActiveUserAndMonth +
		s.EmbedTokens/million*p.PerMillionTokens
}

// Load reads the files.
func Load(folder fs.FS) (Input, error) {
	var in Input
	for name, into := range map[string]any{
		workloadFile: &in.Workload, pricesFile: &in.Prices, UnitsFile: &in.Units,
	} {
		text, err := fs.ReadFile(folder, name)
		if err != nil {
			if name == UnitsFile {
				continue // not measured yet
			}
			return in, fmt.Errorf("read %s: %w", name, err)
		}
		if err := json.Unmarshal(text, into); err != nil {
			return in, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return in, nil
}

// USD returns a price.
func (p Prices) USD(name string) float64 {
	for _, price := range p.Prices {
		if price.Name == name {
			return price.USD
		}
	}
	return math.NaN() // a test finds it
}

// The units of the sizes that prices are for.
const (
	million  = 1e6
	gigabyte = 1 << 30
	kilobyte = 1 << 10
	minutes  = 60
	hour     = 3600
)

// Size is the forecast for one number of users, a month unless it says otherwise.
type Size struct {
	Users, SessionsPerDay, Sessions, Turns    float64
	PeakSessions, PeakTurns                   float64 // a second
	Calls, ReadUnits, WriteUnits              float64
	TableGB, StoredMessages                   float64
	Invocations, GBSeconds, Concurrency       float64
	PeakWrites, PeakReads, PeakAPICalls       float64 // a second
	APICalls                                  float64
	Namespaces, Vectors, VectorGB             float64
	IndexReads, IndexWrites, PeakIndexReads   float64 // units of Pinecone
	InputTokens, OutputTokens, EmbedTokens    float64
	PeakTokens                                float64 // a minute
	LogGB, EgressGB, Traces                   float64
	CoachConcurrency, PeakDue, Summaries      float64
	PromptConcurrency                         float64
	SummarizeConcurrency, RememberConcurrency float64
	HotTurns                                  float64 // turns a second of one user that its partition bears
	Money                                     []Cost
}

// Cost is the money for one part.
type Cost struct {
	Part string
	USD  float64
}

// Total is the money for all parts.
func (s Size) Total() float64 {
	sum := 0.0
	for _, c := range s.Money {
		sum += c.USD
	}
	return sum
}

// TotalPerUser is one user's part of it.
func (s Size) TotalPerUser() float64 { return s.Total() / s.Users }

// WithoutModels is the money without what the models cost.
func (s Size) WithoutModels() float64 {
	without := s.Total()
	for _, c := range s.Money {
		if strings.HasPrefix(c.Part, "OpenAI") {
			without -= c.USD
		}
	}
	return without
}

// StreamShards is about how many shards the table's stream has: one for each partition, of 1,000 write units a second
// or 10 GB.
func (s Size) StreamShards() float64 {
	return math.Ceil(max(1, s.PeakWrites/partitionWrites, s.TableGB/10))
}

// total is the use of all functions in one session.
func (in Input) total() unitbench.Use {
	var sum unitbench.Use
	for _, name := range slices.Sorted(maps.Keys(in.Units.Session)) { // the sum of floats depends on their order
		sum = sum.Plus(in.Units.Session[name])
	}
	return sum
}

// Size works out the forecast for a number of users.
func (in Input) Size(users float64) Size {
	w, use, turns := in.Workload, in.total(), float64(in.Workload.TurnsPerSession)
	s := Size{Users: users, Namespaces: users, SessionsPerDay: users * w.SessionsPerUserAndDay}
	s.Sessions = s.SessionsPerDay * w.DaysPerMonth
	s.Turns = s.Sessions * turns
	s.PeakSessions = s.SessionsPerDay * w.PeakHourShare / hour
	s.PeakTurns = s.PeakSessions * turns

	reads := use.ReadUnits + turns*w.ColdReadUnitsPerTurn + w.Reads.ReadUnitsPerSession
	s.Calls = s.Sessions * (use.DynamoDBCalls + turns*w.ColdCallsPerTurn + w.Reads.CallsPerSession)
	s.ReadUnits, s.WriteUnits = s.Sessions*reads, s.Sessions*use.WriteUnits
	s.PeakReads, s.PeakWrites = s.PeakSessions*reads, s.PeakSessions*use.WriteUnits
	s.StoredMessages = users * w.StoredMessagesPerUser
	storedSessions := s.StoredMessages / (2 * turns)
	s.TableGB = storedSessions * (in.Units.TableBytes + in.Units.IndexBytes) / gigabyte

	s.APICalls = s.Sessions * (2 + w.Reads.CallsPerSession) // a session is opened and completed
	s.PeakAPICalls = s.PeakSessions * (2 + w.Reads.CallsPerSession)
	in.functions(&s)
	in.index(&s, use, storedSessions)

	answers, background := turns*w.OutputTokensPerAnswer, in.Units.Session["summarize"]
	reasoning := turns*w.ReasoningTokensPerAnswer + background.ModelCalls*w.ReasoningTokensPerCall
	s.InputTokens = s.Sessions * use.InputTokens
	s.OutputTokens = s.Sessions * (answers + background.OutputTokens + reasoning)
	s.EmbedTokens = s.Sessions * use.EmbeddingTokens
	s.PeakTokens = s.PeakSessions * minutes * (use.InputTokens + answers + reasoning)

	s.LogGB = s.Sessions * use.LogBytes / gigabyte
	s.Traces = min(s.Invocations, w.DaysPerMonth*24*hour) + 0.05*s.Invocations
	dense := (use.IndexQueries + use.Vectors) * w.DenseDimensions * 4
	s.EgressGB = s.Sessions * (use.SentBytes + dense + w.Reads.BytesPerSession + answers*4) / gigabyte
	s.HotTurns = 1000 / (in.Units.Session["coach"].WriteUnits / turns)
	s.Money = in.money(s)
	return s
}

// functions works out invocations, seconds and concurrency.
func (in Input) functions(s *Size) {
	w, turns := in.Workload, float64(in.Workload.TurnsPerSession)
	perSession := map[string]float64{
		"messages": 2 + w.Reads.CallsPerSession, "coach": turns, "prompt": turns,
		"summarize": in.Units.Session["summarize"].Invocations, "remember": in.Units.Session["remember"].Invocations,
	}
	for _, name := range slices.Sorted(maps.Keys(perSession)) {
		f, n := w.Functions[name], perSession[name]
		s.Invocations += s.Sessions * n
		s.GBSeconds += s.Sessions * n * f.Seconds() * f.MemoryMB / kilobyte
		s.Concurrency += s.PeakSessions * n * f.Seconds()
	}
	s.CoachConcurrency = s.PeakTurns * w.Functions["coach"].Seconds()
	s.PromptConcurrency = s.PeakTurns * w.Functions["prompt"].Seconds()
	s.SummarizeConcurrency = s.PeakSessions * perSession["summarize"] * w.Functions["summarize"].Seconds()
	s.RememberConcurrency = s.PeakSessions * perSession["remember"] * w.Functions["remember"].Seconds()
	s.PeakDue = s.PeakSessions * w.IdleShare
	s.Summaries = s.Sessions * in.Units.Session["summarize"].ModelCalls
}

// What Pinecone charges at least (Pinecone documentation, "Understanding cost").
const (
	leastQuery   = 0.25 // read units
	unitsPerGB   = 1
	leastWrite   = 5 // write units, one for each KB
	idAndSparses = 100
)

// index works out vectors and units of Pinecone.
func (in Input) index(s *Size, use unitbench.Use, storedSessions float64) {
	bytes := use.VectorBytes/max(use.Vectors, 1) + in.Workload.DenseDimensions*4 + idAndSparses
	s.Vectors = storedSessions * use.Vectors
	s.VectorGB = s.Vectors * bytes / gigabyte
	perQuery := max(leastQuery, unitsPerGB*s.VectorGB/s.Namespaces)
	s.IndexReads, s.PeakIndexReads = s.Sessions*use.IndexQueries*perQuery, s.PeakSessions*use.IndexQueries*perQuery
	perWrite := max(leastWrite, math.Ceil(bytes*use.Vectors/max(use.IndexWrites, 1)/kilobyte))
	s.IndexWrites = s.Sessions * use.IndexWrites * perWrite
}

// chatAndSummaries is the part of what the model of the chat and of the background costs.
const chatAndSummaries = "OpenAI: chat and summaries"

// modelUSD is what tokens of the model cost.
func (in Input) modelUSD(input, output float64) float64 {
	cached := input * in.Workload.CachedInputShare
	written := (input - cached) * in.Workload.CacheWriteShare
	return (input-cached-written)*in.Prices.USD("modelInput")/million + written*in.Prices.USD("modelCacheWrite")/million +
		cached*in.Prices.USD("modelCached")/million + output*in.Prices.USD("modelOutput")/million
}

// money works out what each part costs.
func (in Input) money(s Size) []Cost {
	pinecone := s.IndexReads*in.Prices.USD("pineconeRead")/million + s.IndexWrites*in.Prices.USD("pineconeWrite")/million +
		s.VectorGB*in.Prices.USD("pineconeStorage")
	return []Cost{
		{"DynamoDB", s.WriteUnits*in.Prices.USD("dynamodbWrite")/million + s.ReadUnits*in.Prices.USD("dynamodbRead")/million +
			s.TableGB*(in.Prices.USD("dynamodbStorage")+in.Prices.USD("dynamodbBackup"))},
		{"Lambda", s.Invocations*in.Prices.USD("lambdaRequest")/million + s.GBSeconds*in.Prices.USD("lambdaSecond")/million},
		{"API Gateway", s.APICalls * in.Prices.USD("apiRequest") / million},
		{"the chat's gateway and firewall", s.Turns*(in.Prices.USD("chatRequest")+in.Prices.USD("firewallRequest"))/million +
			in.Prices.USD("firewall")},
		{"Pinecone", max(pinecone, in.Prices.USD("pineconeMinimum"))},
		{chatAndSummaries, in.modelUSD(s.InputTokens, s.OutputTokens)},
		{"OpenAI: embeddings", s.EmbedTokens * in.Prices.USD("embedding") / million},
		{"Logs and traces", s.LogGB*(in.Prices.USD("logs")+in.Workload.LogMonths*in.Prices.USD("logStorage")) +
			s.Traces*in.Prices.USD("trace")/million},
		{"Metrics, alarms and the dashboard", (in.Workload.Metrics+in.Workload.RouteMetrics)*in.Prices.USD("metric") +
			in.Workload.AlarmMetrics*in.Prices.USD("alarm") + in.Prices.USD("dashboard")},
		{"Data transfer", s.EgressGB * in.Prices.USD("egress")},
	}
}
