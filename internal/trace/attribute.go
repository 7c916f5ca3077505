package trace

// The attributes of OpenTelemetry's conventions for generative AI (semantic-conventions-genai, "Spans" and "Agent
// spans"). Their last package for Go has no memory operations, and later ones have none of these.
const (
	operationName    = "gen_ai.operation.name"
	providerName     = "gen_ai.provider.name"
	conversationID   = "gen_ai.conversation.id"
	agentName        = "gen_ai.agent.name"
	dataSourceID     = "gen_ai.data_source.id"
	requestModel     = "gen_ai.request.model"
	requestStream    = "gen_ai.request.stream"
	requestMaxTokens = "gen_ai.request.max_tokens"
	requestTopK      = "gen_ai.request.top_k"
	outputType       = "gen_ai.output.type"
	responseModel    = "gen_ai.response.model"
	finishReasons    = "gen_ai.response.finish_reasons"
	firstChunk       = "gen_ai.response.time_to_first_chunk"
	inputTokens      = "gen_ai.usage.input_tokens"
	cachedTokens     = "gen_ai.usage.cache_read.input_tokens"
	outputTokens     = "gen_ai.usage.output_tokens"
	dimensionCount   = "gen_ai.embeddings.dimension.count"
	memoryStoreID    = "gen_ai.memory.store.id"
	memoryRecordID   = "gen_ai.memory.record.id"
	memoryCount      = "gen_ai.memory.record.count"

	// These have texts of users. They are set where the configuration asks for them.
	systemInstructions = "gen_ai.system_instructions"
	inputMessages      = "gen_ai.input.messages"
	outputMessages     = "gen_ai.output.messages"
	memoryQuery        = "gen_ai.memory.query.text"
)

// The attributes of the general conventions.
const (
	errorType      = "error.type"
	serverAddress  = "server.address"
	serverPort     = "server.port"
	httpMethod     = "http.request.method"
	httpRoute      = "http.route"
	httpStatus     = "http.response.status_code"
	faasTrigger    = "faas.trigger"
	faasInvocation = "faas.invocation_id"
	faasColdStart  = "faas.coldstart"
	faasInvoked    = "faas.invoked_name"
	faasProvider   = "faas.invoked_provider"
	dbSystem       = "db.system.name"
	dbOperation    = "db.operation.name"
	dbCollection   = "db.collection.name"
	dbBatch        = "db.operation.batch.size"
	dbReturned     = "db.response.returned_rows"
)

// The attributes that no convention has.
const (
	promptID       = "throughline.prompt.id"
	promptRecipe   = "throughline.prompt.recipe"
	promptTokens   = "throughline.prompt.tokens"
	promptBudget   = "throughline.prompt.budget"
	degraded       = "throughline.degraded"
	replayed       = "throughline.replayed"
	recordCount    = "throughline.records"
	embeddedTexts  = "throughline.embedding.texts"
	embeddingAhead = "throughline.embedding.ahead"
)

// The operations of the conventions.
const (
	opInvokeAgent  = "invoke_agent"
	opChat         = "chat"
	opEmbeddings   = "embeddings"
	opRetrieval    = "retrieval"
	opSearchMemory = "search_memory"
	opCreateMemory = "create_memory"
	opUpdateMemory = "update_memory"
	opUpsertMemory = "upsert_memory"
	opDeleteMemory = "delete_memory"
)
