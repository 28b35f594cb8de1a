// Camunda's engine makes its schema; processes with tasks, timers, messages, work for others and a
// decision run, fail and are tried again; batches, queries, reports, the history's clean-up.

import java.nio.file.Path;
import java.util.*;
import java.util.stream.Collectors;
import org.camunda.bpm.engine.*;
import org.camunda.bpm.engine.query.PeriodUnit;
import org.camunda.bpm.engine.authorization.*;
import org.camunda.bpm.engine.batch.Batch;
import org.camunda.bpm.engine.delegate.DelegateExecution;
import org.camunda.bpm.engine.delegate.JavaDelegate;
import org.camunda.bpm.engine.task.Task;
import org.camunda.bpm.engine.variable.Variables;

public class Run {

  static final Map<String, String> ENV = System.getenv();

  static final String PROCESS =
    """
    <definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:camunda="http://camunda.org/schema/1.0/bpmn" targetNamespace="trees">
      <message id="storm" name="storm"/>
      <process id="felling" isExecutable="true" camunda:historyTimeToLive="5" camunda:versionTag="VERSION">
        <startEvent id="start"/><sequenceFlow id="f1" sourceRef="start" targetRef="mark"/>
        <userTask id="mark" name="Mark" camunda:candidateGroups="foresters" camunda:priority="${height}"/>
        <boundaryEvent id="late" attachedToRef="mark"><timerEventDefinition><timeDuration>P3D</timeDuration></timerEventDefinition></boundaryEvent>
        <sequenceFlow id="f2" sourceRef="late" targetRef="end"/>
        <sequenceFlow id="f3" sourceRef="mark" targetRef="decide"/>
        <businessRuleTask id="decide" camunda:decisionRef="tool" camunda:resultVariable="tool" camunda:mapDecisionResult="singleEntry"/>
        <sequenceFlow id="f4" sourceRef="decide" targetRef="fork"/>
        <parallelGateway id="fork"/>
        <sequenceFlow id="f5" sourceRef="fork" targetRef="fell"/><sequenceFlow id="f6" sourceRef="fork" targetRef="weather"/><sequenceFlow id="f7" sourceRef="fork" targetRef="count"/>
        <serviceTask id="fell" camunda:type="external" camunda:topic="saw"/>
        <receiveTask id="weather" messageRef="storm"/>
        <serviceTask id="count" camunda:asyncBefore="true" camunda:class="Run$Count"/>
        <sequenceFlow id="f8" sourceRef="fell" targetRef="join"/><sequenceFlow id="f9" sourceRef="weather" targetRef="join"/><sequenceFlow id="f10" sourceRef="count" targetRef="join"/>
        <parallelGateway id="join"/><sequenceFlow id="f11" sourceRef="join" targetRef="end"/>
        <endEvent id="end"/>
      </process>
    </definitions>""";

  static final String DECISION =
    """
    <definitions xmlns="https://www.omg.org/spec/DMN/20191111/MODEL/" xmlns:camunda="http://camunda.org/schema/1.0/dmn" id="tools" name="Tools" namespace="trees">
      <decision id="tool" name="Tool" camunda:historyTimeToLive="5">
        <decisionTable id="table">
          <input id="i"><inputExpression id="e" typeRef="integer"><text>height</text></inputExpression></input>
          <output id="o" name="tool" typeRef="string"/>
          <rule id="r1"><inputEntry id="a"><text>&lt; 5</text></inputEntry><outputEntry id="b"><text>"axe"</text></outputEntry></rule>
          <rule id="r2"><inputEntry id="c"><text>&gt;= 5</text></inputEntry><outputEntry id="d"><text>"saw"</text></outputEntry></rule>
        </decisionTable>
      </decision>
    </definitions>""";

  /** Fails unless it may pass. */
  public static class Count implements JavaDelegate {

    @Override
    public void execute(DelegateExecution execution) {
      if (execution.getVariable("fails") != null) throw new IllegalStateException("The tally is lost. ü木");
      execution.setVariable("counted", execution.getVariable("height"));
    }
  }

  public static void main(String[] args) {
    java.util.logging.LogManager.getLogManager().reset();
    try {
      switch (args[0]) {
        case "version" -> System.out.println(version());
        case "migrate" -> engine("true").close();
        default -> use();
      }
      System.exit(0);
    } catch (Throwable e) {
      e.printStackTrace();
      Throwable first = e;
      while (first.getCause() != null) first = first.getCause();
      System.err.println(first.toString().replace('\n', ' '));
      System.exit(1);
    }
  }

  static String version() {
    return Arrays.stream(System.getProperty("java.class.path").split(":"))
      .map(part -> Path.of(part).getFileName().toString())
      .filter(file -> file.matches("camunda-engine-\\d.*"))
      .map(file -> file.replace(".jar", "").replaceFirst("-(\\d)", " $1"))
      .collect(Collectors.joining());
  }

  static ProcessEngine engine(String update) {
    return ProcessEngineConfiguration.createStandaloneProcessEngineConfiguration()
      .setJdbcUrl(
        "jdbc:mysql://%s:%s/%s?allowPublicKeyRetrieval=true&sslMode=DISABLED&nullCatalogMeansCurrent=true&sessionVariables=transaction_isolation='READ-COMMITTED'".formatted(
          ENV.get("DB_HOST"),
          ENV.get("DB_PORT"),
          ENV.get("DB_NAME")
        )
      )
      .setJdbcDriver("com.mysql.cj.jdbc.Driver")
      .setJdbcUsername(ENV.get("DB_USER"))
      .setJdbcPassword(ENV.get("DB_PASSWORD"))
      .setDatabaseSchemaUpdate(update)
      .setHistory("full")
      .setJobExecutorActivate(false)
      .setAuthorizationEnabled(true)
      .buildProcessEngine();
  }

  static void say(String title, Object... what) {
    System.out.println(
      title + ": " + Arrays.stream(what).map(String::valueOf).collect(Collectors.joining(", "))
    );
  }

  static void use() {
    var engine = engine("false");
    var runtime = engine.getRuntimeService();
    var tasks = engine.getTaskService();
    var history = engine.getHistoryService();
    var management = engine.getManagementService();
    for (String version : List.of("1", "2"))
      engine
        .getRepositoryService()
        .createDeployment()
        .name("trees")
        .enableDuplicateFiltering(true)
        .addString("felling.bpmn", PROCESS.replace("VERSION", version))
        .addString("tool.dmn", DECISION)
        .deploy();
    var definitions = engine.getRepositoryService().createProcessDefinitionQuery();
    say("versions", definitions.count(), definitions.latestVersion().singleResult().getVersionTag());
    people(engine);
    for (int n = 0; n < 30; n++)
      runtime.startProcessInstanceByKey(
        "felling",
        "tree " + n,
        Variables.createVariables()
          .putValue("height", n % 10)
          .putValue("kind", n % 3 == 0 ? "Eiche" : "ölbaum")
          .putValue("note", "x".repeat(3000))
          .putValue("bytes", new byte[] { 0, 1, -1 })
          .putValue("weight", n * 1.25)
      );
    say("waits", tasks.createTaskQuery().taskCandidateGroup("foresters").processVariableValueGreaterThan("height", 4).count());
    say(
      "either",
      tasks.createTaskQuery().or().taskPriority(3).processVariableValueLike("kind", "Ei%").endOr().count(),
      tasks.createTaskQuery().processVariableValueNotEquals("kind", "Eiche").matchVariableValuesIgnoreCase().count(),
      runtime.createProcessInstanceQuery().processInstanceBusinessKeyLike("tree 1%").variableValueLessThan("weight", 20.0).count()
    );
    var sorted = tasks.createTaskQuery().orderByTaskPriority().desc().orderByTaskName().asc().listPage(3, 9);
    say("by priority", sorted.stream().map(Task::getPriority).toList());
    for (Task task : tasks.createTaskQuery().taskPriority(9).list()) {
      tasks.claim(task.getId(), "ada");
      tasks.createComment(task.getId(), task.getProcessInstanceId(), "This one. ä");
      tasks.createAttachment("text", task.getId(), null, "a", "an attachment", new java.io.ByteArrayInputStream(new byte[70000]));
    }
    say("of ada", tasks.createTaskQuery().taskAssignee("ada").count(), tasks.createTaskQuery().taskCandidateGroup("foresters").count());
    for (Task task : tasks.createTaskQuery().taskPriority(7).taskUnassigned().list()) {
      tasks.setVariableLocal(task.getId(), "local", true);
      tasks.delegateTask(task.getId(), "bob");
      tasks.resolveTask(task.getId(), Map.of("done", true));
    }
    var marked = tasks.createTaskQuery().processVariableValueLessThan("height", 8).list();
    for (Task task : marked) tasks.complete(task.getId(), task.getPriority() == 3 ? Map.of("fails", true) : Map.of());
    say("tools", history.createHistoricVariableInstanceQuery().variableValueEquals("tool", "axe").count(), history.createHistoricDecisionInstanceQuery().decisionDefinitionKey("tool").count());
    say("decided", history.createHistoricDecisionInstanceQuery().includeInputs().includeOutputs().list().stream().map(d -> d.getOutputs().get(0).getValue()).sorted().toList());

    // Jobs, those that fail and what of them is tried again.
    for (var job : management.createJobQuery().messages().list()) {
      for (int n = 0; n < 3; n++)
        try {
          management.executeJob(job.getId());
          break;
        } catch (RuntimeException e) {
          if (n == 0) say("failed", e.getMessage());
        }
    }
    say("incidents", runtime.createIncidentQuery().incidentType("failedJob").count(), management.createJobQuery().noRetriesLeft().count());
    say("stack", management.getJobExceptionStacktrace(management.createJobQuery().withException().list().get(0).getId()).lines().findFirst().orElse(""));
    runtime.createProcessInstanceQuery().variableValueEquals("fails", true).list().forEach(i -> runtime.removeVariable(i.getId(), "fails"));
    batch(engine, management.setJobRetriesAsync(management.createJobQuery().noRetriesLeft().list().stream().map(j -> j.getId()).toList(), 2));
    say("incidents", runtime.createIncidentQuery().count());
    for (var job : management.createJobQuery().messages().list()) management.executeJob(job.getId());

    // Work for others.
    var external = engine.getExternalTaskService();
    int served = 0;
    while (true) {
      var work = external.fetchAndLock(4, "worker", true).topic("saw", 60000).variables("height", "kind").enableCustomObjectDeserialization().execute();
      if (work.isEmpty()) break;
      for (var one : work) {
        if (served++ == 2) external.handleFailure(one.getId(), "worker", "The saw is blunt.", 0, 0);
        else external.complete(one.getId(), "worker", Map.of("felled", one.getVariables().get("height")));
      }
    }
    say("served", served, external.createExternalTaskQuery().noRetriesLeft().count(), external.createExternalTaskQuery().locked().count());
    say("storms", runtime.createMessageCorrelation("storm").processInstanceVariableEquals("kind", "Eiche").correlateAllWithResult().size());
    try {
      runtime.createMessageCorrelation("storm").processInstanceBusinessKey("nothing").correlate();
    } catch (MismatchingMessageCorrelationException e) {
      say("no such tree");
    }
    say("run", runtime.createProcessInstanceQuery().count(), runtime.createExecutionQuery().messageEventSubscriptionName("storm").count());
    var late = management.createJobQuery().timers().active().list();
    say("timers", late.size());
    management.executeJob(late.get(0).getId());

    // Batches.
    var all = runtime.createProcessInstanceQuery();
    batch(engine, runtime.setVariablesAsync(all, Map.of("set", "by a batch")));
    say("set", runtime.createVariableInstanceQuery().variableName("set").count());
    var two = definitions.latestVersion().singleResult().getId();
    runtime.updateProcessInstanceSuspensionState().byProcessDefinitionKey("felling").suspend();
    say("suspended", runtime.createProcessInstanceQuery().suspended().count(), tasks.createTaskQuery().active().count());
    runtime.updateProcessInstanceSuspensionState().byProcessDefinitionKey("felling").activate();
    var waiting = tasks.createTaskQuery().list().stream().map(Task::getProcessInstanceId).toList();
    batch(engine, runtime.createModification(two).cancelAllForActivity("mark").startBeforeActivity("weather").processInstanceIds(waiting.subList(0, 2)).executeAsync());
    say("modified", runtime.createEventSubscriptionQuery().activityId("weather").count());
    batch(engine, runtime.deleteProcessInstancesAsync(waiting.subList(2, 4), "too old"));
    say("deleted", history.createHistoricProcessInstanceQuery().externallyTerminated().count(), history.createHistoricProcessInstanceQuery().finished().count());

    // What was.
    var byActivity = history.createHistoricActivityStatisticsQuery(two).includeFinished().includeCanceled().includeIncidents().orderByActivityId().asc().list();
    for (var a : byActivity) say("activity", a.getId(), a.getInstances(), a.getFinished(), a.getCanceled(), a.getOpenIncidents(), a.getResolvedIncidents());
    for (var a : management.createActivityStatisticsQuery(two).includeFailedJobs().includeIncidents().list().stream().sorted(Comparator.comparing(a -> a.getId())).toList())
      say("activity now", a.getId(), a.getInstances(), a.getFailedJobs(), a.getIncidentStatistics().size());
    for (var d : management.createProcessDefinitionStatisticsQuery().includeRootIncidents().list()) say("definition", d.getKey(), d.getVersion(), d.getInstances());
    for (var d : management.createDeploymentStatisticsQuery().includeFailedJobs().list()) say("deployment", d.getName(), d.getInstances());
    for (var r : history.createHistoricProcessInstanceReport().duration(PeriodUnit.MONTH)) say("report", r.getPeriod() > 0);
    for (var r : history.createHistoricTaskInstanceReport().countByTaskName()) say("task report", r.getTaskName(), r.getCount());
    for (var r : history.createCleanableHistoricProcessInstanceReport().list()) say("to clean", r.getProcessDefinitionKey(), r.getFinishedProcessInstanceCount(), r.getCleanableProcessInstanceCount());
    var old = history.createHistoricTaskInstanceQuery().or().taskAssignee("bob").taskHadCandidateGroup("foresters").endOr().orderByHistoricActivityInstanceStartTime().asc();
    say("tasks", old.count(), old.finished().count(), history.createHistoricDetailQuery().variableUpdates().count(), history.createUserOperationLogQuery().count());
    say("incidents", history.createHistoricIncidentQuery().resolved().count(), history.createHistoricJobLogQuery().failureLog().count(), history.createHistoricExternalTaskLogQuery().successLog().count());
    batch(engine, history.setRemovalTimeToHistoricProcessInstances().absoluteRemovalTime(new Date(86400000)).byQuery(history.createHistoricProcessInstanceQuery().finished()).executeAsync());
    history.cleanUpHistoryAsync(true);
    for (var job : history.findHistoryCleanupJobs()) management.executeJob(job.getId());
    say("cleaned", history.createHistoricProcessInstanceQuery().count(), history.createHistoricDetailQuery().count());
    together(engine);
    tables(management);
    for (var deployment : engine.getRepositoryService().createDeploymentQuery().list())
      engine.getRepositoryService().deleteDeployment(deployment.getId(), true, true, true);
    tables(management);
    engine.close();
  }

  /** Users, groups, tenants, and what they may do. */
  static void people(ProcessEngine engine) {
    var identity = engine.getIdentityService();
    var authorizations = engine.getAuthorizationService();
    for (String name : List.of("ada", "bob", "celik")) {
      var user = identity.newUser(name);
      user.setFirstName(name.equals("celik") ? "Çelik" : name.toUpperCase(Locale.ROOT));
      user.setPassword("secret");
      identity.saveUser(user);
    }
    identity.saveGroup(identity.newGroup("foresters"));
    identity.saveTenant(identity.newTenant("north"));
    identity.createMembership("ada", "foresters");
    identity.createTenantUserMembership("north", "ada");
    try {
      identity.saveUser(identity.newUser("ada"));
    } catch (RuntimeException e) {
      say("ada again", e.getClass().getSimpleName());
    }
    say("passwords", identity.checkPassword("ada", "secret"), identity.checkPassword("bob", "no"));
    say("found", identity.createUserQuery().userFirstNameLike("%ELIK").count(), identity.createUserQuery().memberOfGroup("foresters").count());
    var authorization = authorizations.createNewAuthorization(Authorization.AUTH_TYPE_GRANT);
    authorization.setGroupId("foresters");
    authorization.setResource(Resources.PROCESS_DEFINITION);
    authorization.setResourceId("felling");
    authorization.setPermissions(new Permission[] { Permissions.READ, Permissions.READ_TASK });
    authorizations.saveAuthorization(authorization);
    identity.setAuthentication("ada", List.of("foresters"), List.of("north"));
    say("ada sees", engine.getRepositoryService().createProcessDefinitionQuery().count(), engine.getTaskService().createTaskQuery().count());
    identity.setAuthentication("bob", List.of());
    say("bob sees", engine.getRepositoryService().createProcessDefinitionQuery().count());
    identity.clearAuthentication();
  }

  /** Runs a batch to its end. */
  static void batch(ProcessEngine engine, Batch batch) {
    var management = engine.getManagementService();
    for (int round = 0; round < 50; round++) {
      if (management.createBatchQuery().batchId(batch.getId()).count() == 0) break;
      for (var definition : List.of(batch.getSeedJobDefinitionId(), batch.getBatchJobDefinitionId(), batch.getMonitorJobDefinitionId()))
        for (var job : management.createJobQuery().jobDefinitionId(definition).list()) management.executeJob(job.getId());
    }
    say("batch", batch.getType(), batch.getTotalJobs(), engine.getHistoryService().createHistoricBatchQuery().batchId(batch.getId()).completed(true).count());
  }

  /** Several who start processes and complete their tasks at once. */
  static void together(ProcessEngine engine) {
    var done = new java.util.concurrent.atomic.AtomicInteger();
    var threads = new ArrayList<Thread>();
    for (int n = 0; n < 4; n++) {
      var thread = new Thread(() -> {
        for (int m = 0; m < 10; m++) {
          var instance = engine.getRuntimeService().startProcessInstanceByKey("felling", Map.of("height", m));
          var task = engine.getTaskService().createTaskQuery().processInstanceId(instance.getId()).singleResult();
          engine.getTaskService().complete(task.getId());
          done.incrementAndGet();
        }
      });
      thread.start();
      threads.add(thread);
    }
    for (var thread : threads)
      try {
        thread.join();
      } catch (InterruptedException e) {
        throw new IllegalStateException(e);
      }
    say("completed at once", done.get());
  }

  static void tables(ManagementService management) {
    for (var table : new TreeMap<>(management.getTableCount()).entrySet())
      // Metrics are of each engine that ran.
      if (!table.getKey().contains("METER") && !table.getKey().contains("TASK_METRIC")) say("rows of " + table.getKey(), table.getValue());
  }
}
