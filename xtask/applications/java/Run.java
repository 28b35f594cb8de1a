// Liquibase changes a schema, tells and rolls back; Flyway migrates one; Hibernate makes its tables
// and works on entities; Flowable makes its schema and runs a process with a user's task.

import jakarta.persistence.*;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.time.LocalDateTime;
import java.util.*;
import liquibase.Contexts;
import liquibase.LabelExpression;
import liquibase.Liquibase;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.resource.DirectoryResourceAccessor;
import org.flowable.engine.ProcessEngine;
import org.flowable.engine.ProcessEngineConfiguration;
import org.flowable.engine.impl.cfg.StandaloneProcessEngineConfiguration;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.Configuration;

public class Run {

  static final Map<String, String> ENV = System.getenv();
  static final String URL =
    "jdbc:mysql://" +
    ENV.get("DB_HOST") +
    ":" +
    ENV.get("DB_PORT") +
    "/" +
    ENV.get("DB_NAME") +
    "?allowPublicKeyRetrieval=true&sslMode=DISABLED&nullCatalogMeansCurrent=true";

  @Entity(name = "Author")
  @Table(name = "h_author")
  public static class Author {

    @Id
    @GeneratedValue(strategy = GenerationType.IDENTITY)
    Long id;

    @Column(nullable = false, unique = true, length = 80)
    String name;

    @Enumerated(EnumType.STRING)
    Rank rank;

    LocalDateTime born;

    @OneToMany(mappedBy = "author", cascade = CascadeType.ALL, orphanRemoval = true)
    List<Book> books = new ArrayList<>();

    @Version
    int version;
  }

  public enum Rank {
    FIRST,
    SECOND,
  }

  @Entity(name = "Book")
  @Table(name = "h_book", indexes = @Index(columnList = "title, price desc"))
  public static class Book {

    @Id
    @GeneratedValue(strategy = GenerationType.UUID)
    UUID id;

    String title;

    @Column(precision = 10, scale = 2)
    BigDecimal price;

    @Lob
    String text;

    @ManyToOne(fetch = FetchType.LAZY)
    Author author;

    @ElementCollection
    @CollectionTable(name = "h_book_tag")
    Set<String> tags = new HashSet<>();
  }

  @Entity(name = "Numbered")
  @Table(name = "h_numbered")
  @Inheritance(strategy = InheritanceType.JOINED)
  public static class Numbered {

    @Id
    @GeneratedValue(strategy = GenerationType.SEQUENCE)
    Long id;

    boolean on;
  }

  @Entity(name = "Named")
  @Table(name = "h_named")
  public static class Named extends Numbered {

    String name;
  }

  static SessionFactory hibernate(String tables) {
    return new Configuration()
      .addAnnotatedClass(Author.class)
      .addAnnotatedClass(Book.class)
      .addAnnotatedClass(Numbered.class)
      .addAnnotatedClass(Named.class)
      .setProperty("hibernate.connection.url", URL)
      .setProperty("hibernate.connection.username", ENV.get("DB_USER"))
      .setProperty("hibernate.connection.password", ENV.get("DB_PASSWORD"))
      .setProperty("hibernate.hbm2ddl.auto", tables)
      .setProperty("hibernate.hbm2ddl.halt_on_error", "true")
      .setProperty("hibernate.globally_quoted_identifiers", "true")
      .buildSessionFactory();
  }

  static Liquibase liquibase(Connection connection) throws Exception {
    var database = DatabaseFactory.getInstance().findCorrectDatabaseImplementation(
      new JdbcConnection(connection)
    );
    return new Liquibase(
      "changes.xml",
      new DirectoryResourceAccessor(Path.of(ENV.get("APPLICATION_SOURCES"))),
      database
    );
  }

  static ProcessEngine flowable(String update) {
    var configuration = new StandaloneProcessEngineConfiguration();
    configuration
      .setJdbcUrl(URL)
      .setJdbcUsername(ENV.get("DB_USER"))
      .setJdbcPassword(ENV.get("DB_PASSWORD"))
      .setJdbcDriver("com.mysql.cj.jdbc.Driver")
      .setDatabaseSchemaUpdate(update);
    return configuration.setAsyncExecutorActivate(false).buildProcessEngine();
  }

  static org.flywaydb.core.Flyway flyway() throws Exception {
    Path folder = Files.createDirectories(Path.of(ENV.get("APPLICATION_FOLDER"), "flyway"));
    Files.writeString(
      folder.resolve("V1__trees.sql"),
      "CREATE TABLE f_tree (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(20));\nINSERT INTO f_tree (name) VALUES ('oak'), ('ash');"
    );
    Files.writeString(
      folder.resolve("V2__procedure.sql"),
      "DELIMITER //\nCREATE PROCEDURE f_add(n VARCHAR(20)) BEGIN INSERT INTO f_tree (name) VALUES (n); END//\nDELIMITER ;\nCALL f_add('elm');"
    );
    Files.writeString(
      folder.resolve("R__view.sql"),
      "CREATE OR REPLACE VIEW f_view AS SELECT name FROM f_tree ORDER BY name;"
    );
    return org.flywaydb.core.Flyway.configure()
      .dataSource(URL, ENV.get("DB_USER"), ENV.get("DB_PASSWORD"))
      .locations("filesystem:" + folder)
      .baselineOnMigrate(true)
      .baselineVersion("0")
      .load();
  }

  public static void main(String[] args) throws Exception {
    try {
      switch (args[0]) {
        case "version" -> System.out.println(versions());
        case "migrate" -> migrate();
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

  static String versions() {
    var names = new ArrayList<String>();
    for (String part : System.getProperty("java.class.path").split(":")) {
      String file = Path.of(part).getFileName().toString().replace(".jar", "");
      for (String name : List.of(
        "liquibase-core",
        "hibernate-core",
        "flowable-engine-7",
        "flyway-mysql"
      ))
        if (file.startsWith(name)) names.add(file.replaceFirst("-(\\d)", " $1"));
    }
    Collections.sort(names);
    return String.join(", ", names);
  }

  static Connection connect() throws Exception {
    return DriverManager.getConnection(URL, ENV.get("DB_USER"), ENV.get("DB_PASSWORD"));
  }

  static void migrate() throws Exception {
    try (var connection = connect()) {
      liquibase(connection).update(new Contexts(), new LabelExpression());
    }
    hibernate("create-only").close();
    flowable(ProcessEngineConfiguration.DB_SCHEMA_UPDATE_TRUE).close();
  }

  static String rows(Connection connection, String query) throws Exception {
    var text = new StringJoiner("; ");
    try (var statement = connection.createStatement(); var rows = statement.executeQuery(query)) {
      int columns = rows.getMetaData().getColumnCount();
      while (rows.next()) {
        var row = new StringJoiner(" ");
        for (int n = 1; n <= columns; n++) row.add(rows.getString(n));
        text.add(row.toString());
      }
    }
    return text.toString();
  }

  static void use() throws Exception {
    try (var connection = connect()) {
      var liquibase = liquibase(connection);
      System.out.println(
        "liquibase waits: " +
          liquibase.listUnrunChangeSets(new Contexts(), new LabelExpression()).size()
      );
      connection.createStatement().execute("INSERT INTO l_forest (name) VALUES ('south')");
      System.out.println(
        "liquibase view: " +
          rows(connection, "SELECT * FROM l_view ORDER BY name") +
          ", " +
          rows(connection, "SELECT data FROM l_forest WHERE name = 'south'")
      );
      liquibase.rollback(1, "");
      liquibase.update(new Contexts(), new LabelExpression());
      System.out.println(
        "liquibase log: " +
          rows(connection, "SELECT id, orderexecuted FROM DATABASECHANGELOG ORDER BY orderexecuted")
      );
    }
    useHibernate();
    useFlowable();
    var flyway = flyway();
    flyway.migrate();
    flyway.validate();
    System.out.println(
      "flyway: " +
        flyway.migrate().migrationsExecuted +
        ", " +
        flyway.info().applied().length +
        " applied"
    );
    try (var connection = connect()) {
      System.out.println("flyway rows: " + rows(connection, "SELECT * FROM f_view"));
    }
  }

  static void useHibernate() {
    try (var factory = hibernate("validate")) {
      factory.inTransaction(session -> {
        for (int n = 0; n < 8; n++) {
          var author = new Author();
          author.name = "author " + n;
          author.rank = n % 2 == 0 ? Rank.FIRST : Rank.SECOND;
          author.born = LocalDateTime.of(1970, 1, n + 1, 12, 0);
          for (int m = 0; m < 3; m++) {
            var book = new Book();
            book.title = "book " + n + m;
            book.price = new BigDecimal(n).add(new BigDecimal("0.25"));
            book.text = "text ".repeat(1000);
            book.author = author;
            book.tags.addAll(List.of("t" + m, "all"));
            author.books.add(book);
          }
          session.persist(author);
          var named = new Named();
          named.name = "n" + n;
          named.on = n > 3;
          session.persist(named);
        }
      });
      factory.inTransaction(session -> {
        System.out.println(
          "hibernate sums: " +
            session
              .createSelectionQuery(
                "select a.name, sum(b.price), count(b) from Author a join a.books b where a.rank = FIRST group by a.name having sum(b.price) > 1 order by 2 desc",
                Object[].class
              )
              .setMaxResults(2)
              .getResultList()
              .stream()
              .map(Arrays::toString)
              .toList()
        );
        System.out.println(
          "hibernate fetch: " +
            session
              .createSelectionQuery(
                "select distinct b from Book b join fetch b.author join b.tags t where t = 't2' and b.title like '%1_' order by b.title",
                Book.class
              )
              .getResultList()
              .stream()
              .map(b -> b.title + " of " + b.author.name + " " + b.tags.size())
              .toList()
        );
        System.out.println(
          "hibernate exists: " +
            session
              .createSelectionQuery(
                "select count(*) from Author a where exists (select 1 from a.books b where b.price > :p)",
                Long.class
              )
              .setParameter("p", new BigDecimal(5))
              .getSingleResult()
        );
        System.out.println(
          "hibernate bulk: " +
            session
              .createMutationQuery(
                "update Named n set n.on = true, n.name = concat(n.name, '!') where n.on = false"
              )
              .executeUpdate() +
            " " +
            session.createMutationQuery("delete from Named n where n.id > 50").executeUpdate()
        );
        var author = session
          .createSelectionQuery("from Author where name = 'author 3'", Author.class)
          .setLockMode(LockModeType.PESSIMISTIC_WRITE)
          .getSingleResult();
        author.books.remove(0);
        author.rank = Rank.FIRST;
        session.remove(
          session
            .createSelectionQuery("from Author where name = 'author 4'", Author.class)
            .getSingleResult()
        );
      });
      factory.inTransaction(session ->
        System.out.println(
          "hibernate left: " +
            session
              .createSelectionQuery("select count(*) from Book", Long.class)
              .getSingleResult() +
            " " +
            session
              .createSelectionQuery(
                "select count(*) from Numbered n where type(n) = Named and n.on",
                Long.class
              )
              .getSingleResult() +
            " " +
            session
              .createSelectionQuery(
                "select version from Author where name = 'author 3'",
                Integer.class
              )
              .getSingleResult()
        )
      );
      try {
        factory.inTransaction(session -> {
          var twice = new Author();
          twice.name = "author 1";
          session.persist(twice);
        });
      } catch (Exception e) {
        System.out.println("hibernate twice: " + e.getClass().getSimpleName());
      }
    }
  }

  static void useFlowable() {
    var engine = flowable(ProcessEngineConfiguration.DB_SCHEMA_UPDATE_FALSE);
    engine
      .getRepositoryService()
      .createDeployment()
      .addString(
        "felling.bpmn20.xml",
        """
        <definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:flowable="http://flowable.org/bpmn" targetNamespace="trees">
          <process id="felling">
            <startEvent id="start"/><sequenceFlow id="a" sourceRef="start" targetRef="mark"/>
            <userTask id="mark" name="Mark" flowable:candidateGroups="foresters"/><sequenceFlow id="b" sourceRef="mark" targetRef="choice"/>
            <exclusiveGateway id="choice"/>
            <sequenceFlow id="c" sourceRef="choice" targetRef="fell"><conditionExpression>${tall}</conditionExpression></sequenceFlow>
            <sequenceFlow id="d" sourceRef="choice" targetRef="end"><conditionExpression>${!tall}</conditionExpression></sequenceFlow>
            <userTask id="fell" name="Fell" flowable:assignee="sawyer"/><sequenceFlow id="e" sourceRef="fell" targetRef="end"/>
            <endEvent id="end"/>
          </process>
        </definitions>"""
      )
      .deploy();
    var runtime = engine.getRuntimeService();
    var tasks = engine.getTaskService();
    for (int n = 0; n < 10; n++) runtime.startProcessInstanceByKey(
      "felling",
      "tree " + n,
      Map.of("height", n, "note", "x".repeat(5000))
    );
    System.out.println(
      "flowable waits: " +
        tasks
          .createTaskQuery()
          .taskCandidateGroup("foresters")
          .processVariableValueGreaterThan("height", 4)
          .count()
    );
    for (var task : tasks
      .createTaskQuery()
      .taskCandidateGroup("foresters")
      .orderByTaskCreateTime()
      .asc()
      .listPage(0, 8)) {
      tasks.claim(task.getId(), "ranger");
      tasks.complete(
        task.getId(),
        Map.of("tall", (Integer) runtime.getVariable(task.getProcessInstanceId(), "height") > 3)
      );
    }
    var mine = tasks.createTaskQuery().taskAssignee("sawyer").list();
    tasks.complete(mine.get(0).getId());
    runtime.deleteProcessInstance(mine.get(1).getProcessInstanceId(), "storm");
    var history = engine.getHistoryService();
    System.out.println(
      "flowable: " +
        mine.size() +
        " to fell, " +
        runtime.createProcessInstanceQuery().count() +
        " run, " +
        history.createHistoricProcessInstanceQuery().finished().count() +
        " ended, " +
        history.createHistoricActivityInstanceQuery().activityType("userTask").count() +
        " tasks"
    );
    System.out.println(
      "flowable by key: " +
        runtime
          .createProcessInstanceQuery()
          .processInstanceBusinessKey("tree 9")
          .variableValueEquals("height", 9)
          .count()
    );
    engine
      .getRepositoryService()
      .deleteDeployment(
        engine.getRepositoryService().createDeploymentQuery().singleResult().getId(),
        true
      );
    System.out.println("flowable left: " + history.createHistoricProcessInstanceQuery().count());
    engine.close();
  }
}
