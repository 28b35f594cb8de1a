# frozen_string_literal: true

# Project management: every migration, then projects, issues, time, wiki and searches by the pages
# and the REST API of its web server, every filter of its queries, deletes that cascade, and the
# schema's dump before and after the newest migrations are undone and made again.

require 'fileutils'

ROOT = File.join(ENV.fetch('APPLICATION_ROOT'), 'usr/share/redmine')

if ARGV[0] == 'version'
  numbers = File.read("#{ROOT}/lib/redmine/version.rb").scan(/(?:MAJOR|MINOR|TINY)\s*=\s*(\d+)/)
  puts "Redmine #{numbers.join('.')} with Rails #{Gem::Specification.find_by_name('rails').version}"
  exit
end

FOLDER = ENV.fetch('APPLICATION_FOLDER')
# An instance of Debian's package has its configuration, logs and files in a folder of its own.
INSTANCE = "#{FOLDER}/default"
DATABASE = <<~'YAML'
  production:
    adapter: mysql2
    host: <%= ENV['DB_HOST'] %>
    port: <%= ENV['DB_PORT'] %>
    username: <%= ENV['DB_USER'] %>
    password: <%= ENV['DB_PASSWORD'] %>
    database: <%= ENV['DB_NAME'] %>
    encoding: utf8mb4
    pool: 20
YAML
%w[config files log tmp public/plugin_assets].each { |name| FileUtils.mkdir_p("#{INSTANCE}/#{name}") }
File.write("#{INSTANCE}/config/database.yml", DATABASE)
# The package's links lead to where it is installed, and this one is only unpacked.
%w[instances config/database.yml Gemfile.lock].each { |name| FileUtils.rm_f("#{ROOT}/#{name}") }
FileUtils.ln_s(FOLDER, "#{ROOT}/instances")
FileUtils.ln_s("#{INSTANCE}/config/database.yml", "#{ROOT}/config/database.yml")
gemfile = File.read("#{ROOT}/Gemfile")
File.write("#{ROOT}/Gemfile", gemfile.gsub("'/usr/share/redmine/", "'#{ROOT}/"))
File.write("#{ROOT}/Gemfile.local", "gem 'puma'\n")
ENV['RAILS_ENV'] = 'production'
ENV['SECRET_KEY_BASE'] = 'of no secret'
ENV['SCHEMA'] = "#{FOLDER}/schema.rb"
ENV['TZ'] = 'UTC'
Dir.chdir(ROOT)

def rake(*tasks, **environment)
  variables = environment.to_h { |name, value| [name.to_s, value] }
  system(variables, '/usr/bin/ruby', 'bin/rake', *tasks, out: '/dev/null') || exit(1)
end

if ARGV[0] == 'migrate'
  rake('db:migrate')
  rake('redmine:load_default_data', REDMINE_LANG: 'en')
  exit
end

require "#{ROOT}/config/environment"
require 'net/http'
require 'puma'

# A person's browser, or a program with a key of the API.
class Client
  def initialize(port)
    @http = Net::HTTP.start('127.0.0.1', port, read_timeout: 300)
    @cookies = {}
  end

  attr_accessor :key
  attr_reader :status, :token

  def get(path)
    send_request(Net::HTTP::Get.new(path))
  end

  # Sends a form, and follows where it leads.
  def submit(path, fields, method = 'Post')
    request = Net::HTTP.const_get(method).new(path)
    request.set_form_data(flat(fields).push(['authenticity_token', @token.to_s]))
    send_request(request)
  end

  # Sends files in a form.
  def attach(path, fields, name, content)
    request = Net::HTTP::Post.new(path)
    file = ['attachments[1][file]', StringIO.new(content), { filename: name, content_type: 'text/plain' }]
    request.set_form(flat(fields).push(['authenticity_token', @token.to_s], file), 'multipart/form-data')
    send_request(request)
  end

  # Sends and receives JSON.
  def api(method, path, body = nil)
    request = Net::HTTP.const_get(method).new(path)
    request['Content-Type'] = body.is_a?(String) ? 'application/octet-stream' : 'application/json'
    request.body = body.is_a?(String) ? body : body.to_json if body
    answer = send_request(request)
    return {} if answer.strip.empty?

    answer.start_with?('{') ? JSON.parse(answer) : { 'page' => @status }
  end

  private

  def send_request(request)
    request['Cookie'] = @cookies.map { |pair| pair.join('=') }.join('; ')
    request['X-Redmine-API-Key'] = @key if @key
    answer = @http.request(request)
    (answer.get_fields('Set-Cookie') || []).each do |cookie|
      name, value = cookie.split(';').first.split('=', 2)
      @cookies[name] = value
    end
    @status = answer.code.to_i
    return get(URI(answer['Location']).request_uri) if answer['Location'] && (300..399).cover?(@status)

    body = answer.body.to_s.dup.force_encoding('UTF-8')
    @token = body.scrub[/name="csrf-token" content="([^"]+)"/, 1] || @token
    body
  end

  def flat(fields, prefix = nil)
    case fields
    when Hash
      fields.flat_map { |name, value| flat(value, prefix ? "#{prefix}[#{name}]" : name.to_s) }
    when Array then fields.flat_map { |value| flat(value, "#{prefix}[]") }
    else [[prefix, fields.to_s]]
    end
  end
end

# What a page shows, but for times and tokens.
def plain(text)
  text.gsub("127.0.0.1:#{PORT}", 'SERVER').gsub(/\d\d?:\d\d [AP]M/, 'TIME')
      .gsub(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(Z| UTC)?/, 'TIME')
      .gsub(/(less than a minute|\d+ minutes?|about \d+ hours?)/, 'A WHILE')
      .gsub(/\s+/, ' ').strip
end

def shown(html, part = '#content')
  page = Nokogiri::HTML(html)
  page.css('script, style, select, #query_form_content, .filters').remove
  plain((page.at_css(part) || page).text)
end

def without_times(value)
  case value
  when Hash then value.reject { |name, _| name =~ /_on\z/ && name !~ /spent_on/ }.transform_values { |v| without_times(v) }
  when Array then value.map { |v| without_times(v) }
  else value
  end
end

def say(title, *what)
  texts = what.map { |w| w.is_a?(String) ? w : without_times(w).to_json }
  puts "#{title}: #{texts.join(' ').gsub("127.0.0.1:#{PORT}", 'SERVER')}"
end

# Every table's rows but for times, tokens, what chance made, `lock_version`, which grows when the
# second does, and the numbers of inherited roles, which follow the rows of a statement without
# ORDER BY.
def contents
  connection = ActiveRecord::Base.connection
  connection.tables.sort.each do |table|
    next if %w[tokens ar_internal_metadata].include?(table)

    columns = connection.columns(table).reject do |c|
      c.type == :datetime || %w[hashed_password salt filename disk_filename disk_directory lock_version].include?(c.name)
    end
    columns = columns.reject { |c| %w[id inherited_from].include?(c.name) } if table == 'member_roles'
    names = columns.map { |c| connection.quote_column_name(c.name) }.join(', ')
    rows = connection.select_rows("SELECT #{names} FROM #{connection.quote_table_name(table)}")
    rows = rows.map { |row| plain(row.map(&:inspect).join(', ')) }.sort
    say("rows of #{table}", rows.length.to_s)
    puts rows
  end
end

# Every filter of a query with every operator that it takes: what is found by the API.
def filtered(client, path, query, samples)
  query.available_filters.each do |name, filter|
    values = filter.values.to_a.map { |v| Array(v).last.to_s }.first(2)
    values = samples[name] || samples[filter[:type]] || ['1'] if values.empty?
    query.class.operators_by_filter_type[filter[:type]].each do |operator|
      given = case operator
              when '><' then [values.first, values.last]
              when /t[+-]\z/, /\At/ then ['7']
              when '*', '!*', 'o', 'c' then ['']
              else values
              end
      given = filter[:type].to_s.start_with?('list') ? given : given.first(operator == '><' ? 2 : 1)
      question = { 'set_filter' => 1, 'f[]' => name, "op[#{name}]" => operator, "v[#{name}][]" => given, 'limit' => 100 }
      answer = client.api('Get', "#{path}.json?#{URI.encode_www_form(question)}")
      listed = answer.values.find { |v| v.is_a?(Array) } || []
      say("#{path} #{name} #{operator} #{given.join(',')}", client.status.to_s, listed.map { |r| r['id'] || r }, answer['total_count'].to_s)
    end
  end
end

# Every column to group by, with totals, and every column to order by.
def grouped(client, path, query)
  totals = query.available_totalable_columns.map { |c| c.name.to_s }
  query.groupable_columns.each do |column|
    question = { 'set_filter' => 1, 'f[]' => '', 'group_by' => column.name, 't[]' => totals, 'per_page' => 100, 'sort' => 'id' }
    say("#{path} by #{column.name}", client.status.to_s, shown(client.get("#{path}?#{URI.encode_www_form(question)}")))
  end
  query.sortable_columns.each_key do |column|
    %w[asc desc].each do |direction|
      question = { 'set_filter' => 1, 'f[]' => '', 'limit' => 100, 'sort' => "#{column}:#{direction},id" }
      answer = client.api('Get', "#{path}.json?#{URI.encode_www_form(question)}")
      say("#{path} ordered by #{column} #{direction}", (answer.values.find { |v| v.is_a?(Array) } || []).map { |r| r['id'] })
    end
  end
end

server = Puma::Server.new(Rails.application, Puma::Events.null, { min_threads: 1, max_threads: 8 })
listener = server.add_tcp_listener('127.0.0.1', 0)
PORT = listener.addr[1]
server.run

first_dump = File.read(ENV['SCHEMA'])
puts first_dump
boss = Client.new(PORT)

# The administrator, who has to choose a password first.
boss.get('/login')
say 'refused', shown(boss.submit('/login', username: 'admin', password: 'wrong'))
say 'logged in', shown(boss.submit('/login', username: 'admin', password: 'admin'))
password = { password: 'admin', new_password: 'correct horse 7', new_password_confirmation: 'correct horse 7' }
say 'password', shown(boss.submit('/my/password', password))
boss.get('/settings?tab=api')
say 'settings', shown(boss.submit('/settings/edit?tab=api', settings: { rest_api_enabled: 1, jsonp_enabled: 0 }), '#flash_notice')
boss.submit('/settings/edit?tab=issues', settings: { cross_project_issue_relations: 1, cross_project_subtasks: 'system' })
boss.submit('/settings/edit?tab=timelog', settings: { timelog_required_fields: [''], timelog_accept_0_hours: 1 })
boss.submit('/settings/edit?tab=general', settings: { per_page_options: '25,50,100', wiki_compression: 'gzip' })
program = Client.new(PORT)
program.key = User.find_by(login: 'admin').api_key

# People and groups.
names = %w[ada bob cleo dan eve fay]
people = names.to_h do |name|
  user = { login: name, firstname: name.capitalize, lastname: 'Ünal', mail: "#{name}@example.com", password: 'correct horse 8' }
  answer = program.api('Post', '/users.json', user: user)
  [name, answer['user']['id']]
end
say 'people', people
again = { login: 'ADA', firstname: 'x', lastname: 'y', mail: 'x@example.com', password: 'correct horse 8' }
say 'twice', program.api('Post', '/users.json', user: again)
taken = { login: 'x', firstname: 'x', lastname: 'y', mail: 'Ada@Example.com', password: 'correct horse 8' }
say 'mail twice', program.api('Post', '/users.json', user: taken)
group = program.api('Post', '/groups.json', group: { name: 'Builders', user_ids: [people['cleo'], people['dan']] })['group']['id']
say 'users', program.api('Get', '/users.json?name=%C3%BCnal&limit=3&offset=2')
roles = program.api('Get', '/roles.json')['roles'].to_h { |r| [r['name'], r['id']] }
trackers = program.api('Get', '/trackers.json')['trackers'].to_h { |t| [t['name'], t['id']] }
statuses = program.api('Get', '/issue_statuses.json')['issue_statuses'].to_h { |s| [s['name'], s['id']] }
priorities = program.api('Get', '/enumerations/issue_priorities.json')['issue_priorities'].map { |p| p['id'] }
activities = program.api('Get', '/enumerations/time_entry_activities.json')['time_entry_activities'].map { |a| a['id'] }
say 'roles', roles, trackers, statuses, priorities, activities

# Custom fields of every format.
boss.get('/custom_fields/new?type=IssueCustomField')
formats = {
  'string' => { searchable: 1 }, 'text' => { searchable: 1 }, 'int' => { min_length: '', default_value: '3' }, 'float' => {},
  'date' => {}, 'bool' => { default_value: '0' }, 'list' => { possible_values: "oak\nelm\nash", multiple: 1 },
  'user' => {}, 'version' => {}, 'link' => {}
}
formats.each do |format, more|
  field = { field_format: format, name: "A #{format}", is_filter: 1, is_for_all: 1, tracker_ids: trackers.values }.merge(more)
  boss.submit('/custom_fields', type: 'IssueCustomField', custom_field: field)
end
[%w[ProjectCustomField string Region], %w[UserCustomField string Desk], %w[VersionCustomField int Weeks], %w[TimeEntryCustomField bool Billed]].each do |type, format, name|
  boss.submit('/custom_fields', type: type, custom_field: { field_format: format, name: name, is_filter: 1 })
end
fields = program.api('Get', '/custom_fields.json')['custom_fields'].to_h { |f| [f['name'], f['id']] }
say 'fields', fields
say 'the page of them', shown(boss.get('/custom_fields'))
custom = ->(values) { values.map { |name, value| { id: fields.fetch(name), value: value } } }

# Projects in a tree; the wiki, the calendar and the rest are modules.
modules = %w[issue_tracking time_tracking news documents files wiki repository boards calendar gantt]
say 'a form', shown(boss.get('/projects/new'))
forest = { name: 'Forest', identifier: 'forest', description: 'Trees, *many* trees.', is_public: 1, enabled_module_names: modules, tracker_ids: trackers.values, custom_field_values: { fields['Region'] => 'north' } }
say 'a project', shown(boss.submit('/projects', project: forest))
projects = { 'forest' => Project.find('forest').id }
[%w[oaks forest], %w[elms forest], %w[holm oaks], ['meadow', nil], ['pond', nil]].each do |name, parent|
  project = { name: name.capitalize, identifier: name, parent_id: parent && projects[parent], inherit_members: !parent.nil?, is_public: name != 'meadow', tracker_ids: trackers.values, enabled_module_names: modules }
  projects[name] = program.api('Post', '/projects.json', project: project)['project']['id']
end
say 'taken', program.api('Post', '/projects.json', project: { name: 'x', identifier: 'oaks' })
say 'projects', program.api('Get', '/projects.json?include=trackers,issue_categories,enabled_modules')
member = ->(project, who, *named) { program.api('Post', "/projects/#{project}/memberships.json", membership: { user_id: who, role_ids: named.map { |r| roles[r] } }) }
say 'member', member.call('forest', people['ada'], 'Manager')
say 'member', member.call('forest', people['bob'], 'Developer', 'Reporter')
say 'a group as member', member.call('forest', group, 'Developer')
say 'member twice', member.call('forest', people['ada'], 'Reporter')
say 'member', member.call('oaks', people['eve'], 'Reporter')
say 'member', member.call('meadow', people['ada'], 'Manager')
say 'members', program.api('Get', '/projects/forest/memberships.json'), program.api('Get', '/projects/holm/memberships.json')
program.api('Post', "/groups/#{group}/users.json", user_id: people['fay'])
program.api('Delete', "/groups/#{group}/users/#{people['dan']}.json")
say 'members by the group', program.api('Get', '/projects/forest/memberships.json')
versions = %w[1.0 1.1 2.0].each_with_index.to_h do |name, n|
  version = { name: name, due_date: "2026-0#{n + 3}-15", sharing: %w[none descendants tree][n], custom_field_values: { fields['Weeks'] => n + 2 } }
  [name, program.api('Post', '/projects/forest/versions.json', version: version)['version']['id']]
end
categories = %w[roots leaves].to_h do |name|
  [name, program.api('Post', '/projects/forest/issue_categories.json', issue_category: { name: name, assigned_to_id: people['bob'] })['issue_category']['id']]
end
say 'versions', versions, categories

# Workflows: one more transition, and a field that must be given.
boss.get("/workflows/edit?role_id=#{roles['Reporter']}&tracker_id=#{trackers['Bug']}")
rule = { statuses['New'] => { statuses['Closed'] => { always: '1', author: '1' } } }
boss.submit('/workflows/update', { role_id: [roles['Reporter']], tracker_id: [trackers['Bug']], transitions: rule }, 'Patch')
boss.submit('/workflows/update_permissions', { role_id: [roles['Reporter']], tracker_id: [trackers['Support']], permissions: { statuses['New'] => { due_date: 'required' } } }, 'Patch')
say 'workflows', shown(boss.get('/workflows'))

# Issues: a hundred, by the API, in trees, with files.
upload = program.api('Post', '/uploads.json?filename=leaf%20%F0%9F%8D%83.txt', 'green ' * 500)['upload']['token']
issues = (1..100).map do |n|
  issue = {
    project_id: projects.values[n % 4], tracker_id: trackers.values[n % 3], priority_id: priorities[n % priorities.length],
    subject: "Issue #{n} #{%w[root leaf bark 100%_done 木].at(n % 5)}", description: "Line one\n\n* #{'word ' * (n % 9)}\n* Ünï #{n}",
    start_date: format('2026-%02d-%02d', 1 + (n % 6), 1 + (n % 27)), due_date: format('2026-%02d-%02d', 7 + (n % 5), 1 + (n % 27)),
    estimated_hours: n % 7 == 0 ? nil : n / 4.0, done_ratio: n % 11 * 10, assigned_to_id: [people['ada'], people['bob'], nil].at(n % 3),
    is_private: n % 13 == 0, watcher_user_ids: n % 5 == 0 ? [people['ada'], people['eve']] : [],
    custom_fields: custom.call('A string' => "s#{n % 4}", 'A text' => "text #{n}", 'A int' => n % 10, 'A float' => n / 8.0, 'A date' => '2026-05-05', 'A bool' => n % 2, 'A list' => n % 3 == 0 ? %w[oak ash] : ['elm'], 'A user' => people['ada'], 'A link' => "x#{n}")
  }
  issue[:parent_issue_id] = @trunk if n % 10 > 5
  issue[:fixed_version_id] = versions.values[n % 3] if n % 4 == 0
  issue[:category_id] = categories.values[n % 2] if n % 4 == 0
  issue[:uploads] = [{ token: upload, filename: 'leaf.txt', description: 'a leaf' }] if n == 7
  answer = program.api('Post', '/issues.json', issue: issue)
  say "issue #{n}", answer unless answer['issue']
  @trunk = answer['issue']['id'] if n % 10 == 5
  answer['issue']['id']
end
say 'issues', issues
say 'one', program.api('Get', "/issues/#{issues[6]}.json?include=children,attachments,relations,journals,watchers,allowed_statuses")
[[1, 'blocks', 2, nil], [3, 'precedes', 4, 5], [4, 'precedes', 12, 0], [12, 'relates', 13, nil], [13, 'duplicates', 14, nil], [20, 'copied_to', 21, nil], [12, 'precedes', 3, 1]].each do |from, kind, to, delay|
  relation = { issue_to_id: issues[to], relation_type: kind, delay: delay }.compact
  say 'relation', program.api('Post', "/issues/#{issues[from]}/relations.json", relation: relation)
end
say 'moved by what precedes them', Issue.where(id: issues.values_at(3, 4, 12)).order(:id).pluck(:start_date, :due_date)

# People work on them.
browsers = names.first(3).to_h do |name|
  browser = Client.new(PORT)
  browser.get('/login')
  say "#{name} logs in", shown(browser.submit('/login', username: name, password: 'correct horse 8'))
  [name, browser]
end
browsers['ada'].get("/issues/#{issues[8]}")
(0..40).each do |n|
  edit = { notes: "Note *#{n}* of Ada", status_id: statuses.values[n % 4], done_ratio: n % 10 * 10 }
  edit[:custom_field_values] = { fields['A list'] => ['ash'], fields['A int'] => n }
  browsers['ada'].submit("/issues/#{issues[n]}", { issue: edit, time_entry: { hours: '1:30', activity_id: activities[n % 2], comments: "c#{n}" } }, 'Patch')
end
browsers['bob'].get("/issues/#{issues[8]}")
browsers['bob'].submit("/issues/#{issues[8]}", { issue: { notes: 'Private', private_notes: 1, status_id: statuses['Closed'] } }, 'Patch')
page = browsers['bob'].get("/issues/#{issues[8]}")
say 'an issue', shown(page)
stale = { issue: { notes: 'Late', subject: 'Stale', lock_version: 0 }, last_journal_id: 1 }
say 'a stale edit', shown(browsers['ada'].submit("/issues/#{issues[8]}", stale, 'Patch'))
say 'a blocked one', program.api('Put', "/issues/#{issues[2]}.json", issue: { status_id: statuses['Closed'] })
%w[history notes properties time_entries].each { |tab| say tab, shown(browsers['bob'].get("/issues/#{issues[9]}/tab/#{tab}")) }
say 'parent', program.api('Put', "/issues/#{issues[30]}.json", issue: { parent_issue_id: issues[4] }), program.api('Put', "/issues/#{issues[4]}.json", issue: { parent_issue_id: issues[30] })
say 'to another tree', program.api('Put', "/issues/#{issues[30]}.json", issue: { parent_issue_id: issues[15] })
say 'the nested sets', Issue.order(:id).pluck(:id, :root_id, :parent_id, :lft, :rgt).map { |row| row.join(' ') }
bulk = { ids: issues.values_at(40, 41, 42), issue: { priority_id: priorities.last, fixed_version_id: versions['2.0'], custom_field_values: { fields['A list'] => ['oak'] } }, notes: 'All at once' }
boss.get('/issues')
say 'bulk edit', shown(boss.get("/issues/bulk_edit?#{URI.encode_www_form('ids[]' => issues.values_at(40, 41, 42))}"))
say 'bulk update', shown(boss.submit('/issues/bulk_update', bulk), '#flash_notice')
copies = { ids: issues.values_at(4, 5), copy: 1, copy_subtasks: 1, copy_watchers: 1, link_copy: 1, issue: { project_id: projects['pond'] } }
say 'copies', shown(boss.submit('/issues/bulk_update', copies), '#flash_notice')
say 'moved', program.api('Put', "/issues/#{issues[60]}.json", issue: { project_id: projects['meadow'] })
say 'context menu', plain(Nokogiri::HTML(boss.get("/issues/context_menu?#{URI.encode_www_form('ids[]' => issues.values_at(1, 2))}")).text)
say 'watch', shown(boss.submit("/watchers/watch?object_type=issue&object_id=#{issues[3]}", {}))

# Time.
(0..60).each do |n|
  entry = { issue_id: issues[n], hours: 0.25 * (n % 9), activity_id: activities[n % 2], spent_on: format('2026-%02d-%02d', 1 + (n % 12), 1 + (n % 28)), comments: "work #{n}", user_id: people.values[n % 2], custom_fields: custom.call('Billed' => n % 2) }
  answer = program.api('Post', '/time_entries.json', time_entry: entry)
  say "time #{n}", answer if n % 10 == 0 || answer['errors']
end
%w[year month week day].each do |columns|
  [%w[user], %w[project activity], %w[issue], %w[version category tracker], %w[status], ["cf_#{fields['Billed']}", "cf_#{fields['A list']}"]].each do |criteria|
    question = URI.encode_www_form('columns' => columns, 'criteria[]' => criteria, 'set_filter' => 1, 'f[]' => '')
    page = Nokogiri::HTML(boss.get("/time_entries/report?#{question}"))
    # Its statement has no ORDER BY, and these rows follow what it answers.
    rows = page.css('#time-report tr').map { |row| plain(row.text) }.sort
    say "report by #{criteria.join(', ')} and #{columns}", *rows
  end
end
say 'time, exported', plain(boss.get('/projects/forest/time_entries.csv?encoding=UTF-8&set_filter=1&f[]=&sort=id'))

# Wiki pages with their history.
browser = browsers['ada']
browser.get('/projects/forest/wiki')
pages = %w[Wiki Trees Oak Elm]
pages.each_with_index do |title, n|
  (1..4).each do |version|
    content = { text: "h1. #{title}\n\nVersion #{version} with [[#{pages[n - 1]}]] and #{'äöü ' * version}\n\n{{toc}}\n\nh2. More\n", comments: "v#{version}", version: version == 1 ? nil : version - 1 }.compact
    parent = n > 1 ? WikiPage.find_by(title: 'Trees')&.id : nil
    browser.submit("/projects/forest/wiki/#{title}", { content: content, wiki_page: { parent_id: parent } }, 'Put')
  end
end
say 'a stale page', program.api('Put', '/projects/forest/wiki/Oak.json', wiki_page: { text: 'x', version: 2 })
say 'a page', shown(browser.get('/projects/forest/wiki/Oak'))
say 'an old version', shown(browser.get('/projects/forest/wiki/Oak/2'))
say 'history', shown(browser.get('/projects/forest/wiki/Oak/history'))
say 'a difference', shown(browser.get('/projects/forest/wiki/Oak/4/diff?version=4&version_from=1'))
say 'annotated', shown(browser.get('/projects/forest/wiki/Oak/4/annotate'))
say 'renamed', shown(browser.submit('/projects/forest/wiki/Elm/rename', wiki_page: { title: 'Elm tree', redirect_existing_links: 1 }))
say 'by its old name', shown(browser.get('/projects/forest/wiki/Elm'))
say 'a file', shown(browser.attach('/projects/forest/wiki/Oak/add_attachment', {}, 'acorn.txt', 'acorn ' * 100))
say 'a version less', shown(browser.submit('/projects/forest/wiki/Oak/2', {}, 'Delete'))
%w[index date_index export].each { |name| say name, shown(browser.get("/projects/forest/wiki/#{name}")) }
say 'pages', program.api('Get', '/projects/forest/wiki/index.json')
say 'page', program.api('Get', '/projects/forest/wiki/Oak.json?include=attachments')

# News, documents, files, boards.
browser.get('/projects/forest/news/new')
say 'news', shown(browser.attach('/projects/forest/news', { 'news' => { title: 'Spring', summary: 's', description: 'It *grows*.' } }, 'n.txt', 'n'))
news = News.first.id
browsers['bob'].get("/news/#{news}")
2.times { |n| say 'comment', shown(browsers['bob'].submit("/news/#{news}/comments", comment: { comments: "Fine #{n}" })) }
say 'document', shown(browser.attach('/projects/forest/documents', { document: { title: 'Plan', description: 'd', category_id: DocumentCategory.first.id } }, 'plan.txt', 'p'))
%w[category date title author].each { |order| say "documents by #{order}", shown(browser.get("/projects/forest/documents?sort_by=#{order}")) }
browser.attach('/projects/forest/files', { version_id: versions['1.0'] }, 'release.tgz', 'r' * 3000)
say 'files', shown(browser.get('/projects/forest/files?sort=size:desc'))
boss.get('/projects/forest/settings/boards')
%w[Talk Help].each { |name| boss.submit('/projects/forest/boards', board: { name: name, description: "#{name}!" }) }
board = Board.find_by(name: 'Talk').id
3.times { |n| browser.submit("/boards/#{board}/topics/new", message: { subject: "Topic #{n}", content: 'Says', sticky: n == 1 ? 1 : 0 }) }
topic = Message.find_by(subject: 'Topic 0').id
browsers['bob'].get("/boards/#{board}/topics/#{topic}")
4.times { |n| browsers['bob'].submit("/boards/#{board}/topics/#{topic}/replies", reply: { subject: 'RE', content: "Reply #{n}" }) }
say 'boards', shown(browser.get('/projects/forest/boards'))
say 'a board', shown(browser.get("/projects/forest/boards/#{board}"))
say 'a topic', shown(browser.get("/boards/#{board}/topics/#{topic}"))

# When it was made and changed is a matter of seconds, which filters would tell apart.
connection = ActiveRecord::Base.connection
connection.tables.sort.each do |table|
  names = connection.columns(table).map(&:name)
  next unless (names & %w[created_on updated_on]).any? && table != 'tokens'

  changes = []
  changes << "created_on = '2026-01-01' + INTERVAL id HOUR" if names.include?('created_on')
  changes << "updated_on = '2026-01-01' + INTERVAL id + id % 3 * 24 HOUR" if names.include?('updated_on')
  changes << 'closed_on = IF(closed_on IS NULL, NULL, created_on + INTERVAL 9 DAY)' if names.include?('closed_on')
  connection.execute("UPDATE #{table} SET #{changes.join(', ')}")
end

# Queries.
samples = {
  'issue_id' => [issues[4].to_s, issues[50].to_s], 'parent_id' => [issues[4].to_s], 'child_id' => [issues[5].to_s],
  text: ['leaf'], string: ['s1'], integer: %w[3 20], float: %w[1.5 12.5], date: %w[2026-02-03 2026-08-09],
  date_past: %w[2026-01-02 2026-01-04], relation: [issues[4].to_s], tree: [issues[4].to_s]
}
User.current = User.find_by(login: 'admin')
filtered(program, '/issues', IssueQuery.new(name: '_'), samples)
filtered(program, '/projects/forest/issues', IssueQuery.new(name: '_', project: Project.find('forest')), samples)
filtered(program, '/time_entries', TimeEntryQuery.new(name: '_'), samples)
filtered(program, '/projects', ProjectQuery.new(name: '_'), samples)
grouped(boss, '/issues', IssueQuery.new(name: '_'))
grouped(boss, '/time_entries', TimeEntryQuery.new(name: '_'))
columns = IssueQuery.new(name: '_').available_columns.map { |c| c.name.to_s }
say 'all columns', plain(boss.get("/issues.csv?#{URI.encode_www_form('encoding' => 'UTF-8', 'set_filter' => 1, 'f[]' => '', 'sort' => 'id', 'c[]' => columns)}"))
saved = { query: { name: 'Mine', visibility: 2, sort_criteria: { '0' => %w[priority desc], '1' => %w[id asc] } }, f: ['status_id'], op: { status_id: 'o' }, c: %w[id subject], group_by: 'tracker', t: ['estimated_hours'] }
boss.get('/projects/forest/queries/new')
say 'a saved query', shown(boss.submit('/projects/forest/queries', saved))
say 'queries', program.api('Get', '/queries.json')
%w[ada bob cleo].each { |name| say "#{name} sees", shown(browsers[name].get('/issues?set_filter=1&f[]=&sort=id&per_page=100')) }
words = ['leaf', '木', '100%', '_done', 'Unal', 'ünï 7', 'text 42', 'acorn', 'grows plan', "#{issues[9]}", 'quote \' " \\']
words.each do |word|
  [{}, { 'titles_only' => 1 }, { 'all_words' => '', 'attachments' => 1 }, { 'open_issues' => 1, 'issues' => 1 }].each do |more|
    found = program.api('Get', "/search.json?#{URI.encode_www_form({ 'q' => word, 'limit' => 100 }.merge(more))}")
    say "search #{word} #{more}", found['total_count'].to_s, (found['results'] || []).map { |r| "#{r['type']} #{r['id']}" }.sort
  end
end
say 'search in a tree', shown(browser.get('/projects/forest/search?q=leaf&scope=subprojects'))

# Pages of a project.
%w[forest oaks].each do |project|
  ['', '/issues/gantt?month=3&year=2026&months=12', '/issues/calendar?month=4&year=2026', '/roadmap?completed=1&with_subprojects=1&tracker_ids[]=1&tracker_ids[]=2',
   '/activity?with_subprojects=1&from=2026-01-10', '/issues/report', '/issues/report/assigned_to', '/issues/report/version', '/issues/report/subproject', '/settings', '/settings/members', '/settings/versions',
   '/settings/activities', '/time_entries', '/news', '/files'].each do |path|
    say "#{project}#{path}", shown(boss.get("/projects/#{project}#{path}"))
  end
end
versions.each_value { |id| say 'a version', shown(boss.get("/versions/#{id}")), program.api('Get', "/versions/#{id}.json") }
versions.each_value { |id| %w[category tracker status priority author assigned_to].each { |by| say "a version by #{by}", shown(boss.submit("/versions/#{id}/status_by", status_by: by)) } }
%w[/ /projects /projects?display_type=list /news /activity?from=2026-01-10 /my/page /users /groups /roles /roles/permissions /trackers /issue_statuses /enumerations /admin /admin/projects /settings].each do |path|
  say path, shown(boss.get(path))
end
people.each_value { |id| say 'a person', shown(boss.get("/users/#{id}")) }
say 'feed', plain(Nokogiri::XML(boss.get('/projects/forest/activity.atom')).css('title').map(&:text).join('; '))
say 'as PDF', [boss.get("/issues/#{issues[6]}.pdf")[0, 5], boss.status], [boss.get('/projects/forest/issues.pdf')[0, 5], boss.status]
say 'auto completion', plain(boss.get('/issues/auto_complete?term=leaf&scope=all'))
csv = "subject,tracker,start\nImported 1,Bug,2026-01-02\nImported 2,Feature,2026-01-03\nImported 3,Nothing,x\n"
import = IssueImport.new(user: User.find_by(login: 'admin'), file: StringIO.new(csv))
import.settings = { 'separator' => ',', 'wrapper' => '"', 'encoding' => 'UTF-8', 'date_format' => '%Y-%m-%d', 'mapping' => { 'project_id' => projects['pond'].to_s, 'tracker' => '1', 'subject' => '0', 'start_date' => '2' } }
import.set_default_settings
import.settings['mapping'] = { 'project_id' => projects['pond'].to_s, 'tracker' => '1', 'subject' => '0', 'start_date' => '2' }
import.save!
import.parse_file
import.run
say 'imported', import.items.order(:position).pluck(:position, :message, :obj_id), Issue.where('subject LIKE ?', 'Imported%').pluck(:subject, :start_date)

# A project with all that it has, copied; then deletes that cascade.
boss.get('/projects/forest/copy')
copy = { project: { name: 'Forest 2', identifier: 'forest-2', tracker_ids: trackers.values, enabled_module_names: modules }, only: %w[members versions issue_categories issues queries boards wiki documents] }
say 'project copied', shown(boss.submit('/projects/forest/copy', copy))
say 'its issues', program.api('Get', '/projects/forest-2/issues.json?status_id=*&sort=id&limit=100')
contents
say 'archived', program.api('Put', '/projects/oaks/archive.json'), Project.order(:lft).pluck(:identifier, :status, :lft, :rgt)
say 'unarchived', program.api('Put', '/projects/oaks/unarchive.json'), program.api('Put', '/projects/elms/close.json'), Project.order(:lft).pluck(:identifier, :status)
say 'to another parent', program.api('Put', '/projects/holm.json', project: { parent_id: projects['pond'] }), Project.order(:lft).pluck(:identifier, :lft, :rgt)
say 'a version in use', program.api('Delete', "/versions/#{versions['1.0']}.json"), program.status.to_s
boss.get('/issues')
say 'issues deleted', shown(boss.submit('/issues', { ids: issues.values_at(4, 25, 26), todo: 'nullify' }, 'Delete'), '#flash_notice')
say 'time goes elsewhere', shown(boss.submit('/issues', { ids: [issues[1]], todo: 'reassign', reassign_to_id: issues[3] }, 'Delete'), '#flash_notice')
say 'the nested sets', Issue.order(:id).pluck(:id, :root_id, :lft, :rgt).map { |row| row.join(' ') }
say 'a category less', program.api('Delete', "/issue_categories/#{categories['roots']}.json?reassign_to_id=#{categories['leaves']}"), Issue.group(:category_id).count
say 'a page less', shown(boss.submit('/projects/forest/wiki/Trees', { todo: 'destroy' }, 'Delete'))
say 'a person less', program.api('Delete', "/users/#{people['bob']}.json"), program.status.to_s, Issue.group(:author_id, :assigned_to_id).count.to_a
say 'a field less', shown(boss.submit("/custom_fields/#{fields['A list']}", {}, 'Delete')), CustomValue.count
say 'a topic less', shown(boss.submit("/boards/#{board}/topics/#{topic}/destroy", {}))
say 'a group less', program.api('Delete', "/groups/#{group}.json"), program.api('Get', '/projects/forest/memberships.json')
say 'a tracker in use', shown(boss.submit("/trackers/#{trackers['Bug']}", {}, 'Delete'), '#flash_error')
%w[forest forest-2].each { |name| say 'a project less', program.api('Delete', "/projects/#{name}.json"), program.status.to_s, Project.order(:lft).pluck(:identifier, :lft, :rgt) }
say 'repair', (Project.rebuild_tree!; Issue.rebuild_tree!; Issue.count)
rake('redmine:attachments:prune', 'redmine:tokens:prune', 'redmine:watchers:prune')
contents

# Many at once: children of one parent, whose nested set each of them changes.
parent = program.api('Post', '/issues.json', issue: { project_id: projects['pond'], tracker_id: trackers['Bug'], subject: 'Parent' })['issue']['id']
threads = (1..4).map do |n|
  Thread.new do
    client = Client.new(PORT)
    client.key = program.key
    (1..10).sum do |m|
      issue = { project_id: projects['pond'], tracker_id: trackers['Bug'], subject: "Child #{n} #{m}", parent_issue_id: parent }
      # A deadlock's victim is an error 500 there, as on MySQL.
      (1..20).find { client.api('Post', '/issues.json', issue: issue)['issue'] rescue nil } ? 1 : 0
    end
  end
end
say 'children at once', threads.sum(&:value)
bounds = Issue.where(root_id: parent).pluck(:lft, :rgt).flatten.sort
say 'the nested set', bounds == (1..82).to_a

# The newest migrations, undone and made again.
server.stop(true)
rake('db:migrate')
say 'migrated again, the dump is the same', File.read(ENV['SCHEMA']) == first_dump
rake('db:rollback', STEP: '4')
puts File.read(ENV['SCHEMA'])
rake('db:migrate')
say 'back again', File.read(ENV['SCHEMA']) == first_dump
